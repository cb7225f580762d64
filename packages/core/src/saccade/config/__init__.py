"""Settings of a run: nested frozen dataclasses, changed by name (``--set rl.steps=30``), kept as JSON.

Start in ``context.py``, what the command line gives a recipe with the user's own questions; ``held_out.py`` parts them.
Then ``settings.py``. ``sources.py`` hashes what a run was made from.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.config.context import RecipeContext as RecipeContext
    from saccade.config.context import read_own_tasks as read_own_tasks
    from saccade.config.context import warn_of_bad_rows as warn_of_bad_rows
    from saccade.config.held_out import split_held_out as split_held_out
    from saccade.config.held_out import without_held_out as without_held_out
    from saccade.config.settings import apply_overrides as apply_overrides
    from saccade.config.settings import check_settings as check_settings
    from saccade.config.settings import setting_keys as setting_keys
else:
    __getattr__, __dir__ = names_on_use(__name__)
