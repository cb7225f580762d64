"""What lies in a folder: PDFs and pictures as documents of pages, in an order that does not depend on the machine."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import UserError
from saccade.plain_files import open_plain

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".pgm", ".ppm"})


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFile:
    """A file that holds one page or more."""

    path: Path
    name: str
    """Its path below the folder, with "/"."""

    @property
    def is_pdf(self) -> bool:
        return self.path.suffix.lower() == ".pdf"

    @property
    def document(self) -> str:
        """A PDF is a document, and so are the pictures of a subfolder together, and each picture at the top."""
        folder, _, _ = self.name.rpartition("/")
        return self.name if self.is_pdf or not folder else folder


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderContents:
    """The files of a folder."""

    sources: Sequence[SourceFile]
    left_out: Sequence[str]
    """Names of files that are neither PDFs nor pictures by their endings."""


def read_folder(folder: Path, *, but: Path) -> FolderContents:
    """All files below ``folder`` but hidden ones and those below ``but``; numbers in names are ordered as numbers."""
    if not folder.is_dir():
        raise UserError(f"{folder} is no directory; give the folder that holds the PDFs and pictures")
    found = sorted(_names(folder, but.resolve()), key=_natural)
    sources = [SourceFile(path=folder / name, name=name) for name in found]
    kept = [source for source in sources if source.is_pdf or source.path.suffix.lower() in PICTURES]
    names = {source.name for source in kept}
    return FolderContents(sources=kept, left_out=[name for name in found if name not in names])


def sha256_of(path: Path) -> str:
    """Of a file's bytes."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _names(folder: Path, but: Path) -> Iterator[str]:
    for at, folders, files in os.walk(folder):
        here = Path(at)
        folders[:] = [name for name in folders if not name.startswith(".") and (here / name).resolve() != but]
        yield from ((here / name).relative_to(folder).as_posix() for name in files if not name.startswith("."))


def _natural(name: str) -> tuple[list[tuple[str, int]], str]:
    """Runs of letters and of digits by turns: page 2 comes before page 10."""
    parts = re.findall(r"([^0-9]*)([0-9]*)", name.casefold())
    return [(letters, int(digits or -1)) for letters, digits in parts], name
