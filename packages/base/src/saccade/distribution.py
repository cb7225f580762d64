"""What is installed of Saccade: one version for all its packages, and the folders that they lie in."""

import sys
from pathlib import Path

__version__ = "0.1.0"


def source_folders() -> tuple[Path, ...]:
    """Each folder ``saccade`` that holds modules: one where wheels share it, one for each package of a clone."""
    return tuple(dict.fromkeys(map(Path, sys.modules["saccade"].__path__)))
