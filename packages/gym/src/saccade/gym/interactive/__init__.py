"""Interactive families: drawn things that actions change, with a goal, exact progress and an expert for any state.

Start in ``saccade.tasks.interaction`` of the base, which says what an interaction is; ``registry.py`` has the families
by name. Saccade plays them as environments (``--env gym:NAME``); they need no package but this one.
"""
