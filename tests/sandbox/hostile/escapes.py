"""Attempts to get at something outside the session."""

from hostile.inheritance import INHERITANCE, NETWORK
from hostile.outside_files import FILES
from hostile.outside_processes import DEVICES, PROCESSES
from hostile.privileges import PRIVILEGES

ESCAPES = FILES + DEVICES + PROCESSES + PRIVILEGES + INHERITANCE + NETWORK
