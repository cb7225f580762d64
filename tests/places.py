"""Where the tests find things."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The repository."""
SOURCES = sorted(ROOT.glob("packages/*/src"))
"""The folder of each package that is put on Python's path."""


def source_file(name: str, root: Path = ROOT) -> Path:
    """The file of this name below ``saccade``, in the one package that has it."""
    (found,) = root.glob(f"packages/*/src/saccade/{name}")
    return found


def source_files(pattern: str = "*.py") -> Iterator[tuple[str, Path]]:
    """Each file of the source, with its path below ``saccade``."""
    for source in SOURCES:
        for path in sorted((source / "saccade").rglob(pattern)):
            yield str(path.relative_to(source / "saccade")), path
