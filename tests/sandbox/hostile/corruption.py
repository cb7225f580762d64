"""Attempts to spoil the session's interpreter, its files or what the keeper believes of it."""

from hostile.ends import ENDS
from hostile.forgery import FORGERY
from hostile.handles import KERNEL
from hostile.interpreters import VARIABLES

CORRUPTION = ENDS + VARIABLES + KERNEL + FORGERY
