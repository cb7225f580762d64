"""All attacks: escapes from the session, bombs beyond its limits, corruption of its interpreter or files."""

from hostile import (
    crowds,
    ends,
    floods,
    forgery,
    handles,
    heaps,
    hoards,
    inheritance,
    interpreters,
    loops,
    outside_files,
    outside_processes,
    privileges,
)

ESCAPES = (
    outside_files.FILES
    + outside_processes.DEVICES
    + outside_processes.PROCESSES
    + privileges.PRIVILEGES
    + inheritance.INHERITANCE
    + inheritance.NETWORK
)
BOMBS = crowds.PROCESSES + hoards.MEMORY + heaps.FILES + floods.OUTPUT + loops.TIME
CORRUPTION = ends.ENDS + interpreters.VARIABLES + handles.KERNEL + forgery.FORGERY
