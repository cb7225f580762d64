"""Pages of a folder that an index does not have yet, one after the other, each with its picture or why it has none."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from PIL import Image, TiffImagePlugin

from saccade.media.decode import DEFAULT_LIMITS, MediaError, decode_image
from saccade.media.encode import png_bytes
from saccade.media.store import image_hash
from saccade.plain_files import open_plain
from saccade.retrieval.folder import SourceFile, sha256_of
from saccade.retrieval.layout import IndexEntry
from saccade.retrieval.pdf import PdfReader, UnreadablePageError

MAX_PDF_BYTES = 1 << 30
MAX_FAILED_IN_A_ROW = 100
"""After so many pages in a row that cannot be drawn the rest of a file is not tried: it may claim any number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftedPage:
    """An entry that is to be made, and its page."""

    entry: IndexEntry
    image: Image.Image | None = None
    encoded: bytes = b""
    """The picture's own bytes, where it has some."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownFile:
    """What an index has of a file."""

    sha256: str
    pages: int
    """So many, readable or not."""
    number: int
    """Of its last page."""
    failed_in_a_row: int
    """So many of the last pages cannot be drawn."""
    is_whole: bool


def known_files(entries: Sequence[IndexEntry]) -> dict[str, KnownFile]:
    """By the files' names; of a file that was replaced, what came after."""
    known: dict[str, KnownFile] = {}
    for entry in entries:
        before = known.get(entry.file)
        pages = 0 if before is None or entry.is_replaced else before.pages
        number = 0 if before is None else before.number
        failed = 0 if before is None or not entry.error else before.failed_in_a_row
        known[entry.file] = KnownFile(
            sha256=entry.sha256,
            pages=pages + bool(entry.number),
            number=entry.number or number,
            failed_in_a_row=failed + bool(entry.error),
            is_whole=entry.is_last,
        )
    return known


def last_numbers(entries: Sequence[IndexEntry]) -> dict[str, int]:
    """The greatest number of each document's pages."""
    greatest: dict[str, int] = {}
    for entry in entries:
        greatest[entry.document] = max(greatest.get(entry.document, 0), entry.number)
    return greatest


class NewPages:
    """Drafts of what is new in files, in their order."""

    def __init__(self, entries: Sequence[IndexEntry], pdfs: PdfReader) -> None:
        self._known: Mapping[str, KnownFile] = known_files(entries)
        self._last = last_numbers(entries)
        self._pdfs = pdfs

    def of(self, source: SourceFile) -> Iterator[DraftedPage]:
        """Nothing for a file that the index has as it is; the rest of one that it has a part of."""
        known = self._known.get(source.name)
        try:
            # A named pipe would be waited for.
            sha256 = "" if source.path.exists() and not source.path.is_file() else sha256_of(source.path)
            why = "it is no file but a pipe, a socket or a device"
        except OSError as error:
            sha256, why = "", f"it cannot be read ({error.strerror})"
        entry = IndexEntry(file=source.name, sha256=sha256, document=source.document)
        if not sha256:
            if known is None or known.sha256 or not known.is_whole:
                yield _failed_page(entry, why, is_last=True)
            return
        done, failed = 0, 0
        if known is not None and known.sha256 == entry.sha256:
            if known.is_whole:
                return
            done, failed = known.pages, known.failed_in_a_row
        elif known is not None:
            yield DraftedPage(entry=replace(entry, is_replaced=True))
        if source.is_pdf:
            yield from self._of_pdf(source, entry, done, failed)
        else:
            yield self._of_picture(source, entry, known)

    def _of_pdf(self, source: SourceFile, entry: IndexEntry, done: int, failed: int) -> Iterator[DraftedPage]:
        try:
            pages = self._count(source)
        except UnreadablePageError as error:
            yield _failed_page(entry, str(error), is_last=True)
            return
        for number in range(done + 1, pages + 1):
            if failed == MAX_FAILED_IN_A_ROW:
                why = f"pages {number} to {pages} are not tried: none of the {failed} before them can be drawn"
                yield _failed_page(entry, why, is_last=True)
                return
            page = replace(entry, number=number, is_last=number == pages)
            try:
                image = self._pdfs.draw(source.path, number)
                failed = 0
                yield DraftedPage(entry=replace(page, picture=f"{image_hash(image)}.png"), image=image)
            except UnreadablePageError as error:
                failed += 1
                yield _failed_page(page, str(error), is_last=page.is_last)

    def _count(self, source: SourceFile) -> int:
        size = source.path.stat().st_size
        if size == 0:
            raise UnreadablePageError("it is empty (0 bytes)")
        if size > MAX_PDF_BYTES:
            raise UnreadablePageError(f"it has {size} bytes, more than {MAX_PDF_BYTES}; split it")
        return self._pdfs.pages(source.path)

    def _of_picture(self, source: SourceFile, entry: IndexEntry, known: KnownFile | None) -> DraftedPage:
        """A picture that has changed keeps its number."""
        number = known.number if known is not None else self._last.get(source.document, 0) + 1
        self._last[source.document] = max(number, self._last.get(source.document, 0))
        page = replace(entry, number=number, is_last=True)
        try:
            with open_plain(source.path) as file:
                raw = file.read(DEFAULT_LIMITS.max_bytes + 1)
            image = decode_image(raw, source.name)
        except (MediaError, OSError) as error:
            return _failed_page(page, str(error).removeprefix(f"{source.name}: "), is_last=True)
        if (frames := _tiff_frames(raw)) > 1:
            why = f"a TIFF of {frames} pages; save each as a file of its own, or all as a PDF"
            return _failed_page(page, why, is_last=True)
        return DraftedPage(
            entry=replace(page, picture=f"{entry.sha256}{source.path.suffix.lower()}"), image=image, encoded=raw
        )


def picture_bytes(draft: DraftedPage) -> bytes:
    """What is kept of a page's picture."""
    assert draft.image is not None
    return draft.encoded or png_bytes(draft.image)


def _failed_page(entry: IndexEntry, why: str, *, is_last: bool) -> DraftedPage:
    return DraftedPage(entry=replace(entry, error=why, is_last=is_last))


def _tiff_frames(raw: bytes) -> int:
    """Pages of a TIFF that can be decoded; 1 for other pictures."""
    if not raw.startswith((b"II*\x00", b"MM\x00*")):
        return 1
    return TiffImagePlugin.TiffImageFile(io.BytesIO(raw)).n_frames
