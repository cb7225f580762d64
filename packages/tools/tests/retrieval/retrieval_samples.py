"""Pages that the tests of retrieval index."""

from pathlib import Path

import pypdfium2
from PIL import Image

from saccade.testing.color_encoder import COLORS


def painted(path: Path, colors: str) -> Path:
    """A picture whose quarters have the colours of the words, row by row."""
    image = Image.new("RGB", (64, 64), "white")
    for place, name in enumerate(colors.split()):
        image.paste(COLORS[name], (place % 2 * 32, place // 2 * 32, place % 2 * 32 + 32, place // 2 * 32 + 32))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)
    return path


def pdf_of(path: Path, *colors: str) -> Path:
    """A PDF with a page of each colour."""
    pages = [Image.new("RGB", (60, 80), COLORS[color]) for color in colors]
    path.parent.mkdir(parents=True, exist_ok=True)
    pages[0].save(path, save_all=True, append_images=pages[1:])
    return path


def empty_pdf(path: Path, width: float, height: float) -> Path:
    """A PDF with one white page of this size in points."""
    with pypdfium2.PdfDocument.new() as document:
        document.new_page(width, height)
        document.save(path)
    return path


def claiming(pages: int) -> bytes:
    """A PDF of a few bytes without a page that says that it has so many."""
    tree = b"2 0 obj<</Type/Pages/Kids[]/Count %d>>endobj" % pages
    return b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n%b\ntrailer<</Size 3/Root 1 0 R>>\n%%%%EOF\n" % tree


def contents(root: Path) -> dict[str, bytes]:
    """All files below a directory."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
