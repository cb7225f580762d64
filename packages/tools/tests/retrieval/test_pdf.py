"""Pages of PDFs: turned, cut, too large, and made to hold the renderer up."""

import subprocess
import sys
from pathlib import Path

import psutil
import pypdfium2
import pytest
from retrieval_samples import empty_pdf, pdf_of

from odd_files import ODD_FILES, answer_of
from saccade.retrieval.pdf import PdfReader, UnreadablePageError
from saccade.sandbox import landlock

DPI, PIXELS = 72, 1_000_000


def two_halves(path: Path, *, rotation: int = 0, crop: tuple[float, float, float, float] | None = None) -> Path:
    """A page whose left half is red and whose right half is white."""
    write_pdf(path, b"1 0 0 rg 0 0 100 100 re f")
    with pypdfium2.PdfDocument(path) as document:
        page = document[0]
        page.set_rotation(rotation)
        if crop:
            page.set_cropbox(*crop)
        document.save(path.with_name("changed.pdf"))
    return path.with_name("changed.pdf")


def write_pdf(path: Path, *streams: bytes) -> None:
    """One page of 200 x 100 points; its content is the first stream, the others are forms."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents 4 0 R /Resources << "
        + (b"/XObject << /F 5 0 R >> " if len(streams) > 1 else b"")
        + b">> >>",
    ]
    for number, stream in enumerate(streams):
        form = b"/Type /XObject /Subtype /Form /BBox [0 0 200 100] " if number else b""
        inner = b"/Resources << /XObject << /F %d 0 R >> >> " % (number + 5) if 0 < number < len(streams) - 1 else b""
        objects.append(b"<< %s%s/Length %d >>\nstream\n%s\nendstream" % (form, inner, len(stream), stream))
    raw, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, start=1):
        places.append(len(raw))
        raw += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    at = len(raw)
    raw += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    raw += b"".join(b"%010d 00000 n \n" % place for place in places)
    raw += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, at)
    path.write_bytes(raw)


@pytest.mark.parametrize(
    ("rotation", "size", "is_red"),
    [(0, (200, 100), (True, False)), (90, (100, 200), (True, False)), (180, (200, 100), (False, True))],
)
def test_a_page_is_drawn_upright(
    tmp_path: Path, rotation: int, size: tuple[int, int], is_red: tuple[bool, bool]
) -> None:
    with PdfReader(dots_per_inch=DPI, max_pixels=PIXELS) as pdfs:
        page = pdfs.draw(two_halves(tmp_path / "halves.pdf", rotation=rotation), 1)
    ends = page.getpixel((5, 5)), page.getpixel((page.width - 5, page.height - 5))
    assert page.size == size
    assert tuple(end == (255, 0, 0) for end in ends) == is_red


def test_a_page_is_cut_to_its_crop_box(tmp_path: Path) -> None:
    with PdfReader(dots_per_inch=2 * DPI, max_pixels=PIXELS) as pdfs:
        page = pdfs.draw(two_halves(tmp_path / "halves.pdf", crop=(100, 0, 200, 50)), 1)
    assert page.size == (200, 100)
    assert page.getcolors() == [(200 * 100, (255, 255, 255))]


def test_a_huge_page_is_drawn_smaller(tmp_path: Path) -> None:
    with PdfReader(dots_per_inch=DPI, max_pixels=PIXELS) as pdfs:
        page = pdfs.draw(empty_pdf(tmp_path / "huge.pdf", 14400, 3600), 1)
    assert 0.98 * PIXELS < page.width * page.height <= PIXELS
    assert page.width == pytest.approx(4 * page.height, abs=4)


def test_a_page_that_holds_the_renderer_up_costs_that_page_alone(tmp_path: Path) -> None:
    drawn_often = [b"/F Do"] + [b"/F Do " * 10] * 9 + [b"0 0 9 9 re f " * 1000]
    write_pdf(tmp_path / "bomb.pdf", *drawn_often)
    pdf_of(tmp_path / "fine.pdf", "red", "blue")
    with PdfReader(dots_per_inch=DPI, max_pixels=PIXELS, page_seconds=1.0) as pdfs:
        with pytest.raises(UnreadablePageError, match="drawing it takes more than 1 s"):
            pdfs.draw(tmp_path / "bomb.pdf", 1)
        assert pdfs.pages(tmp_path / "fine.pdf") == 2
        assert pdfs.draw(tmp_path / "fine.pdf", 2).size == (60, 80)
        with pytest.raises(UnreadablePageError):
            pdfs.draw(tmp_path / "fine.pdf", 3)


TRIES = """
import os, socket, subprocess, sys
from pathlib import Path
from saccade.retrieval.pdf_process import _close_in
listener = socket.create_server(("127.0.0.1", 0))
_close_in()
def tried(what):
    try:
        what()
    except OSError:
        return "refused"
    return "done"
datagram = lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))
print(tried(lambda: Path("/etc/passwd").read_bytes()))
print(tried(lambda: os.listdir("/")))
print(tried(lambda: Path("/proc/self/environ").read_bytes()))
print(tried(lambda: Path(sys.argv[1], "new").touch()))
print(tried(lambda: os.execv("/bin/true", ["true"])))
print(tried(lambda: socket.create_connection(listener.getsockname())))
print(tried(datagram))
"""


@pytest.mark.skipif(landlock.version() < 4, reason="the kernel has no such walls")
def test_a_document_that_takes_the_renderer_over_reaches_no_file_no_network_and_no_program(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", TRIES, str(tmp_path)], capture_output=True, text=True, check=False)
    # Without namespaces of its own a process may still send datagrams.
    assert done.stdout.split()[:6] == ["refused"] * 6, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_keys_of_the_user_are_not_in_the_renderers_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACCADE_TOKEN", "a token")
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    with PdfReader(dots_per_inch=DPI, max_pixels=PIXELS) as pdfs:
        assert pdfs.pages(empty_pdf(tmp_path / "a.pdf", 10, 10)) == 1
        assert pdfs._process is not None
        assert not {"SACCADE_TOKEN", "OPENAI_API_KEY"} & set(psutil.Process(pdfs._process.pid).environ())


@pytest.mark.parametrize("kind", sorted(ODD_FILES))
def test_what_is_no_file_is_no_document(tmp_path: Path, kind: str) -> None:
    ODD_FILES[kind](tmp_path / "a.pdf")
    with PdfReader(dots_per_inch=DPI, max_pixels=PIXELS) as pdfs:
        assert isinstance(answer_of(lambda: pdfs.pages(tmp_path / "a.pdf")), UnreadablePageError)
        assert pdfs.pages(empty_pdf(tmp_path / "b.pdf", 10, 10)) == 1
