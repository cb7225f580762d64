"""The process that draws pages of PDFs: it may crash, hang, eat memory or be taken over by a hostile file.

Started by ``pdf.py`` with the number of a socket. A request brings a document as a descriptor and names perhaps a page,
counted from 0; the answer is the number of pages, a page's RGB bytes, or why there are none. What the process may do is
read that document and the system's fonts, and answer: it opens no other file, has no network and starts no program, as
far as the kernel has Landlock and lets a user make namespaces.
"""

import ctypes
import math
import mmap
import os
import resource
import signal
import socket
import sys
from contextlib import suppress

import pypdfium2
import pypdfium2.raw as pdfium

from saccade.frames import BrokenFrameError, WireFrame, packed, receive
from saccade.media.resize import MAX_ASPECT_RATIO
from saccade.sandbox import landlock, linux

MEMORY_BYTES = 4 << 30
_POINTS_PER_INCH = 72
_FONTS = ("/usr/share", "/usr/local/share")
"""Folders of the fonts that a document does not bring, and of what links there lead to."""


class _Document:
    """The document that was asked about last."""

    def __init__(self) -> None:
        self._identity: tuple[int, ...] = ()
        self._open: pypdfium2.PdfDocument | None = None

    def at(self, descriptor: int) -> pypdfium2.PdfDocument:
        found = os.fstat(descriptor)
        identity = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
        if self._open is None or identity != self._identity:
            if self._open is not None:
                self._open.close()
            self._open = None
            document = _open_document(descriptor, found.st_size)
            document.init_forms()
            self._identity, self._open = identity, document
        return self._open


def main(connection: socket.socket) -> None:
    """Answer until the other side closes."""
    # What is imported at the first page must be there before nothing more can be read.
    with pypdfium2.PdfDocument.new() as warming:
        warming.new_page(9, 9).render(rev_byteorder=True, prefer_bgrx=False).to_pil().convert("RGB").tobytes()
    _close_in()
    document = _Document()
    while True:
        try:
            descriptor = _receive_descriptor(connection)
            try:
                request = receive(connection)
                # A document takes addresses of its own, beside what it may make PDFium take.
                memory = MEMORY_BYTES + os.fstat(descriptor).st_size
                resource.setrlimit(resource.RLIMIT_AS, (memory, resource.RLIM_INFINITY))
                # Seconds of the processor, so that no index depends on what else runs; SIGPROF ends the process.
                signal.setitimer(signal.ITIMER_PROF, float(str(request.header["seconds"])))
                answer = _answer(document, descriptor, request)
                signal.setitimer(signal.ITIMER_PROF, 0)
            finally:
                os.close(descriptor)
            connection.sendall(packed(answer))
        except (BrokenFrameError, BrokenPipeError, ConnectionResetError):
            return


def _close_in() -> None:
    """Gives up files, network and programs for good; what the machine does not offer is left out."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    for flags in (linux.NEW_USER | linux.NEW_NET, linux.NEW_NET):
        with suppress(OSError):
            linux.unshare(flags)
            break
    with suppress(OSError):
        linux.drop_capabilities()
        linux.forbid_new_privileges()
    if landlock.version():
        landlock.restrict(listed=[], readable=_FONTS, writable=[], devices=[])


def _receive_descriptor(connection: socket.socket) -> int:
    """The descriptor that comes before a request; ``BrokenFrameError`` at the end."""
    said, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    if not said or not descriptors:
        raise BrokenFrameError("the other side has ended")
    return descriptors[0]


def _open_document(descriptor: int, size: int) -> pypdfium2.PdfDocument:
    """The document; ValueError for one without pages, which PDFium opens, and pypdfium2 then takes for the last error
    of whatever document came before."""
    # A private copy of what is changed, since ctypes takes no memory that cannot be.
    held = (ctypes.c_char * size).from_buffer(mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY))
    try:
        return pypdfium2.PdfDocument(held)
    except pypdfium2.PdfiumError as error:
        document = pdfium.FPDF_LoadMemDocument64(held, size, None)
        if not document:
            raise
        pdfium.FPDF_CloseDocument(document)
        raise ValueError("it has no pages") from error


def _answer(document: _Document, descriptor: int, request: WireFrame) -> WireFrame:
    said = request.header
    try:
        opened = document.at(descriptor)
        if "page" not in said:
            return WireFrame({"pages": len(opened)})
        return _draw_page(opened[int(str(said["page"]))], int(str(said["dpi"])), int(str(said["max_pixels"])))
    except pypdfium2.PdfiumError as error:
        return WireFrame({"error": _why(error)})
    except MemoryError:
        return WireFrame({"error": f"it takes more than {MEMORY_BYTES >> 30} GiB of memory"})
    except (OSError, ValueError) as error:
        return WireFrame({"error": str(error)})


def _draw_page(page: pypdfium2.PdfPage, dpi: int, max_pixels: int) -> WireFrame:
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
