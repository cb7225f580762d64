"""Recipes: functions from a ``RecipeContext`` to a ``Plan``, one module for each method.

Each module reads like a paper's method section: settings, ``method(settings, material) -> stages``, and recipes that
make the material, from the user's files (the function of the module's name) or from drawn tasks (``tiny``).
Start with ``questions`` for questions of your own, with ``demo`` for the whole way on a tiny model.
"""

__all__ = ["codedance", "demo", "evaluation", "ivgr", "look_closer", "perception", "questions", "vista_r1"]
