"""Attempts to take more than a session may have."""

from hostile.crowds import PROCESSES
from hostile.floods import OUTPUT
from hostile.heaps import FILES
from hostile.hoards import MEMORY
from hostile.loops import TIME

BOMBS = PROCESSES + MEMORY + FILES + OUTPUT + TIME
