"""The process that draws pages of PDFs: it may crash, hang or eat memory over a hostile file without harm to others.

Started by ``pdf.py`` with the number of a socket. A request names a file and perhaps a page, counted from 0; the answer
is the number of pages, a page's RGB bytes, or why there are none.
"""

import math
import os
import resource
import signal
import socket
import sys
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

from saccade.frames import BrokenFrameError, WireFrame, packed, receive
from saccade.media.resize import MAX_ASPECT_RATIO
from saccade.plain_files import check_plain

MEMORY_BYTES = 4 << 30
_POINTS_PER_INCH = 72


class _Document:
    """The document that was asked about last."""

    def __init__(self) -> None:
        self._path = ""
        self._open: pypdfium2.PdfDocument | None = None

    def at(self, path: str) -> pypdfium2.PdfDocument:
        if self._open is None or path != self._path:
            if self._open is not None:
                self._open.close()
            self._open = None
            document = _opened(path)
            document.init_forms()
            self._path, self._open = path, document
        return self._open


def main(connection: socket.socket) -> None:
    """Answer until the other side closes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    document = _Document()
    while True:
        try:
            request = receive(connection)
            # Seconds of the processor, so that no index depends on what else runs; SIGPROF ends the process.
            signal.setitimer(signal.ITIMER_PROF, float(str(request.header["seconds"])))
            answer = _answer(document, request)
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.sendall(packed(answer))
        except (BrokenFrameError, BrokenPipeError, ConnectionResetError):
            return


def _opened(path: str) -> pypdfium2.PdfDocument:
    """The document; ValueError for one without pages, which PDFium opens, and pypdfium2 then takes for the last error
    of whatever document came before."""
    try:
        return pypdfium2.PdfDocument(check_plain(Path(path)))
    except pypdfium2.PdfiumError as error:
        document = pdfium.FPDF_LoadDocument(os.fsencode(path) + b"\0", None)
        if not document:
            raise
        pdfium.FPDF_CloseDocument(document)
        raise ValueError("it has no pages") from error


def _answer(document: _Document, request: WireFrame) -> WireFrame:
    said = request.header
    try:
        opened = document.at(str(said["path"]))
        if "page" not in said:
            return WireFrame({"pages": len(opened)})
        return _drawn(opened[int(str(said["page"]))], int(str(said["dpi"])), int(str(said["max_pixels"])))
    except pypdfium2.PdfiumError as error:
        return WireFrame({"error": _why(error)})
    except MemoryError:
        return WireFrame({"error": f"it takes more than {MEMORY_BYTES >> 30} GiB of memory"})
    except (OSError, ValueError) as error:
        return WireFrame({"error": str(error)})


def _drawn(page: pypdfium2.PdfPage, dpi: int, max_pixels: int) -> WireFrame:
    """The page upright and cut to its crop box, on white, as its annotations and forms show it."""
    try:
        width, height = page.get_size()
        if not (math.isfinite(width) and math.isfinite(height) and min(width, height) > 0):
            return WireFrame({"error": f"a page of {width:g} x {height:g} points holds nothing"})
        if max(width, height) > MAX_ASPECT_RATIO * min(width, height):
            why = f"a page of {width:g} x {height:g} points is more than {MAX_ASPECT_RATIO:g} times longer than wide"
            return WireFrame({"error": why})
        # The drawn sides are rounded up, so that a little less must be aimed at.
        scale = min(dpi / _POINTS_PER_INCH, 0.999 * math.sqrt(max_pixels / (width * height)))
        picture = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False).to_pil().convert("RGB")
    finally:
        page.close()
    return WireFrame({"width": picture.width, "height": picture.height}, [picture.tobytes()])


def _why(error: pypdfium2.PdfiumError) -> str:
    reasons = {
        pdfium.FPDF_ERR_PASSWORD: "it needs a password; save it without one",
        pdfium.FPDF_ERR_FORMAT: "it is damaged, or no PDF",
        pdfium.FPDF_ERR_SECURITY: "it is encrypted in a way that cannot be read",
    }
    return reasons.get(error.err_code, f"it cannot be drawn ({error})")


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
