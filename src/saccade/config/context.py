"""What a recipe is told: the command line's part of a run."""

from dataclasses import dataclass, field
from pathlib import Path

from saccade.media.store import MediaStore


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeContext:
    """What the user asked for; a recipe is a function ``recipe(context) -> Plan``."""

    data: Path | None = None
    """File or folder of the user's own tasks, or ``hf:name[:split]``; None when the recipe brings its own."""
    model: Path | None = None
    """Checkpoint directory to start from; None for the recipe's default."""
    overrides: tuple[str, ...] = ()
    """``key=value`` texts for ``apply_overrides`` on the recipe's own settings."""
    seed: int = 0
    skip_bad_rows: bool = False
    """Leave bad rows of ``data`` out instead of stopping before work starts."""
    image_root: Path | None = None
    """Folder in which relative paths of images in ``data`` begin; None for the folder of each file."""
    media: MediaStore = field(default_factory=MediaStore)
    """Where the run's images live; the plan's tasks must put theirs there."""
