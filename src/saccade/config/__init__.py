"""Settings of a run: nested frozen dataclasses, changed by name (``--set rl.steps=30``), kept as JSON.

Start in ``context.py``, what the command line gives a recipe with the user's own questions; ``held_out.py`` parts them.
Then ``settings.py``. ``sources.py`` hashes what a run was made from.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.config.context import RecipeContext, read_own_tasks, warn_of_bad_rows
    from saccade.config.held_out import split_held_out, without_held_out
    from saccade.config.settings import apply_overrides, check_settings, setting_keys
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "RecipeContext",
    "apply_overrides",
    "check_settings",
    "read_own_tasks",
    "setting_keys",
    "split_held_out",
    "warn_of_bad_rows",
    "without_held_out",
]
