"""Methods in miniature: drawn tasks, experts with habits, exact judges, and tiny models made from nothing.

``demo`` shows the whole way; ``argos``, ``codedance``, ``environment``, ``ivgr``, ``lang2act`` and ``vista_r1`` run the
methods of ``saccade.recipes`` (their function ``tiny``); ``perception`` makes the base checkpoint that ships and
``perception_words`` teaches it on. The core imports nothing of this room.
"""

__all__ = [
    "argos",
    "codedance",
    "demo",
    "environment",
    "ivgr",
    "lang2act",
    "look_closer",
    "perception",
    "perception_words",
    "vista_r1",
]
