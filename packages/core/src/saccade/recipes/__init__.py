"""Recipes: functions from a ``RecipeContext`` to a ``Plan``, one module for each method.

Each module reads like a paper's method section: ``method(settings, material) -> stages``, and a recipe of the module's
name that makes the material from the user's files. Start with ``questions``, for questions of your own. The same
methods on drawn tasks, for tiny models, are in ``saccade.miniature``.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)

__all__ = [
    "argos",
    "codedance",
    "distill",
    "dpo",
    "environment",
    "evaluation",
    "ivgr",
    "lang2act",
    "questions",
    "sft",
    "vista_r1",
]
