"""An index made of a folder: what is in it, what cannot be read, what is added, and a build that was killed."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pypdfium2
import pytest
from retrieval_samples import claiming, contents, empty_pdf, painted, pdf_of

from saccade.errors import UserError
from saccade.retrieval import IndexSettings, Page, build_index, open_index, open_retriever
from saccade.retrieval.folder import SourceFile
from saccade.retrieval.layout import IndexEntry
from saccade.retrieval.pdf import PdfReader
from saccade.retrieval.sources import NewPages
from saccade.testing.color_encoder import ColorEncoder
from warm import run_warm

BLOCKS = IndexSettings(block_pages=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    for number, colors in ((2, "green green green green"), (10, "blue blue red red"), (1, "red white white white")):
        painted(root / "deck" / f"slide{number}.png", colors)
    painted(root / "photo.png", "yellow yellow black black")
    pdf_of(root / "report.pdf", "red", "green", "blue")
    (root / "notes.txt").write_text("no page")
    (root / ".hidden.png").write_bytes(b"")
    return root


def test_pdfs_folders_of_pictures_and_pictures_are_documents(folder: Path, tmp_path: Path) -> None:
    told: list[IndexEntry] = []
    report = build_index(folder, ColorEncoder(), tmp_path / "index", told=told.append)
    index = open_index(tmp_path / "index")
    assert (report.added, report.left_out, report.gone) == (7, ["notes.txt"], [])
    assert [str(page) for page in index.pages()] == [
        "deck#1",
        "deck#2",
        "deck#3",
        "photo.png#1",
        "report.pdf#1",
        "report.pdf#2",
        "report.pdf#3",
    ]
    assert [entry.file for entry in told[:3]] == ["deck/slide1.png", "deck/slide2.png", "deck/slide10.png"]
    assert index.documents == ["deck", "photo.png", "report.pdf"]


def test_questions_find_pages_in_the_corpus_or_in_a_document(folder: Path, tmp_path: Path) -> None:
    build_index(folder, ColorEncoder(), tmp_path / "index")
    retriever = open_retriever(tmp_path / "index", ColorEncoder())
    assert [str(hit.page) for hit in retriever.search("What is yellow and black?", 1)] == ["photo.png#1"]
    assert [str(hit.page) for hit in retriever.search("blue and red", 1)] == ["deck#3"]
    assert [str(hit.page) for hit in retriever.search("green?", 1, "report.pdf")] == ["report.pdf#2"]
    scores = [hit.score for hit in retriever.search("green", 50)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 7


def test_equal_pages_come_in_the_corpus_order_and_each_once(tmp_path: Path) -> None:
    pdf_of(tmp_path / "folder" / "same.pdf", *["red"] * 5)
    build_index(tmp_path / "folder", ColorEncoder(), tmp_path / "index")
    (query,) = ColorEncoder().encode_questions(["red"])
    hits = open_index(tmp_path / "index").search(query, 4)
    assert [hit.page.number for hit in hits] == [1, 2, 3, 4]


def test_a_page_comes_back_as_the_picture_that_was_encoded(folder: Path, tmp_path: Path) -> None:
    build_index(folder, ColorEncoder(), tmp_path / "index")
    index = open_index(tmp_path / "index")
    drawn = index.picture(Page(document="report.pdf", number=3))
    assert (drawn.mode, drawn.size) == ("RGB", (120, 160))
    assert drawn.getpixel((60, 80))[2] > 200  # type: ignore[index]
    assert index.picture(Page(document="photo.png", number=1)).size == (64, 64)
    for wrong, said in (
        (Page(document="reprot.pdf", number=1), "did you mean"),
        (Page(document="deck", number=4), "3 pages"),
    ):
        with pytest.raises(UserError, match=said):
            index.picture(wrong)
    with pytest.raises(UserError, match="no document 'dek'; did you mean 'deck'"):
        index.pages("dek")


def test_stored_vectors_say_where_on_the_page_they_are(folder: Path, tmp_path: Path) -> None:
    build_index(folder, ColorEncoder(), tmp_path / "index")
    page = open_index(tmp_path / "index").page_vectors(Page(document="photo.png", number=1))
    patches = page.vectors[page.first :].reshape(4, 4, -1).argmax(axis=2)
    assert page.grid == (4, 4)
    assert patches.tolist() == [[3] * 4, [3] * 4, [4] * 4, [4] * 4]


def test_every_page_that_cannot_be_read_is_named_with_the_reason(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "report.pdf").read_bytes()
    (folder / "cut.pdf").write_bytes(whole[:100])
    (folder / "empty.pdf").write_bytes(b"")
    (folder / "empty.png").write_bytes(b"")
    (folder / "text.pdf").write_text("not a PDF")
    (folder / "broken.png").write_bytes((folder / "photo.png").read_bytes()[:60])
    empty_pdf(folder / "strip.pdf", 0.1, 8000)
    locked = Path(__file__).parent / "password.pdf"
    (folder / "locked.pdf").write_bytes(locked.read_bytes())
    pypdfium2.PdfDocument.new().save(folder / "none.pdf")
    os.mkfifo(folder / "pipe.pdf")
    (folder / "lost.pdf").symlink_to(tmp_path / "nowhere")
    told: list[IndexEntry] = []
    report = build_index(folder, ColorEncoder(), tmp_path / "index", told=told.append)
    assert report.added == 7
    assert {(entry.file, entry.number): entry.error for entry in told if entry.error} == {
        ("broken.png", 1): "the image is damaged or cut off (image file is truncated)",
        ("cut.pdf", 0): "it is damaged, or no PDF",
        ("empty.pdf", 0): "it is empty (0 bytes)",
        ("empty.png", 1): "the image is empty (0 bytes)",
        ("locked.pdf", 0): "it needs a password; save it without one",
        ("lost.pdf", 0): "it cannot be read (No such file or directory)",
        ("none.pdf", 0): "it has no pages",
        ("pipe.pdf", 0): "it is no file but a pipe, a socket or a device",
        ("strip.pdf", 1): "a page of 0.1 x 8000 points is more than 200 times longer than wide",
        ("text.pdf", 0): "it is damaged, or no PDF",
    }
    assert len(open_index(tmp_path / "index").unreadable) == 10


def test_a_file_that_claims_pages_without_end_is_given_up(folder: Path, tmp_path: Path) -> None:
    (folder / "claims.pdf").write_bytes(claiming(300_000))
    build_index(folder, ColorEncoder(), tmp_path / "whole", BLOCKS)
    failed = [entry for entry in open_index(tmp_path / "whole").unreadable if entry.file == "claims.pdf"]
    assert [entry.number for entry in failed] == [*range(1, 101), 0]
    assert failed[0].error == "it cannot be drawn (Failed to load page.)"
    assert failed[-1].error == "pages 101 to 300000 are not tried: none of the 100 before them can be drawn"
    # What goes on in the middle of them gives up at the same page.
    source = SourceFile(path=folder / "claims.pdf", name="claims.pdf")
    with PdfReader(dots_per_inch=144, max_pixels=1000) as pdfs:
        assert [draft.entry for draft in NewPages(failed[:60], pdfs).of(source)] == failed[60:]


def test_pages_of_another_library_are_drawn_as_they_were_printed(tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.figure")
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, color in enumerate(("red", "blue")):
        figure = pyplot.Figure(figsize=(4, 3))
        figure.add_axes((0.1, 0.1, 0.8, 0.8)).bar([0, 1], [1, 2], color=color)
        figure.savefig(folder / f"{number}.pdf")
    build_index(folder, ColorEncoder(), tmp_path / "index")
    pages = open_retriever(tmp_path / "index", ColorEncoder())
    assert [str(pages.search(color, 1)[0].page) for color in ("red", "blue")] == ["0.pdf#1", "1.pdf#1"]
    assert pages.index.picture(Page(document="0.pdf", number=1)).size == (576, 432)


def test_only_what_is_new_is_encoded_and_what_changed_replaces(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(folder, ColorEncoder(), out)
    again = ColorEncoder()
    assert build_index(folder, again, out).added == again.pages == 0
    painted(folder / "deck" / "slide2.png", "black black black black")
    painted(folder / "deck" / "slide3.png", "white white white white")
    pdf_of(folder / "report.pdf", "yellow")
    (folder / "photo.png").unlink()
    report = build_index(folder, again, out)
    assert (report.added, again.pages, report.gone) == (3, 3, ["photo.png"])
    index = open_index(out)
    assert [str(page) for page in index.pages()] == [
        "deck#1",
        "deck#3",
        "photo.png#1",
        "deck#2",
        "deck#4",
        "report.pdf#1",
    ]
    assert [str(hit.page) for hit in open_retriever(out, again).search("black", 1, "deck")] == ["deck#2"]
    assert build_index(folder, again, out).added == 0


def test_another_encoder_or_other_settings_are_refused(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index(folder, ColorEncoder(), out)
    with pytest.raises(UserError, match="made by the encoder colors:4, not by other:4"):
        build_index(folder, ColorEncoder(identity="other"), out)
    with pytest.raises(UserError, match="made by the encoder colors:4, not by colors:8"):
        open_retriever(out, ColorEncoder(grid=8))
    with pytest.raises(UserError, match="precision='int8'"):
        build_index(folder, ColorEncoder(), out, IndexSettings(precision="fp16"))
    with pytest.raises(UserError, match="neither empty nor an index"):
        build_index(folder, ColorEncoder(), folder / "deck")
    with pytest.raises(UserError, match="is no index of pages"):
        open_index(folder)


KILLED = """
import os, signal, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from saccade.retrieval import IndexSettings, build_index
from saccade.testing.color_encoder import ColorEncoder

class Killed(ColorEncoder):
    def encode_pages(self, images):
        if self.pages >= int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode_pages(images)

build_index(Path(sys.argv[1]), Killed(), Path(sys.argv[2]), IndexSettings(block_pages=2))
"""


def test_a_killed_build_ends_with_the_bytes_of_one_that_was_left_alone(folder: Path, tmp_path: Path) -> None:
    build_index(folder, ColorEncoder(), tmp_path / "whole", BLOCKS)
    cut = tmp_path / "cut"
    for pages in (0, 2, 2):
        ended = run_warm([sys.executable, "-c", KILLED, str(folder), str(cut), str(pages)])
        assert ended.returncode == -signal.SIGKILL
    assert len(open_index(cut)) == 4
    # As if it had been killed while it wrote, too.
    for name, torn in (("vectors.bin", b"\1" * 77), ("scales.bin", b"\2" * 9), ("journal.jsonl", b'[{"file": "deck')):
        with (cut / name).open("ab") as file:
            file.write(torn)
    (cut / "pictures" / "ab").mkdir()
    (cut / "pictures" / "ab" / ".page.1-2.tmp").write_bytes(b"half")
    assert len(open_index(cut)) == 4
    build_index(folder, ColorEncoder(), cut, BLOCKS)
    assert contents(cut) == contents(tmp_path / "whole")


def test_an_index_inside_the_folder_is_no_part_of_it(folder: Path) -> None:
    for added in (7, 0):
        assert build_index(folder, ColorEncoder(), folder / "deck" / "index").added == added


def test_many_threads_find_what_one_finds(folder: Path, tmp_path: Path) -> None:
    build_index(folder, ColorEncoder(), tmp_path / "index")
    pages = open_retriever(tmp_path / "index", ColorEncoder())
    questions = ["red", "blue and red", "yellow", "black or white"] * 16
    with ThreadPoolExecutor(64) as asking:
        assert list(asking.map(pages.search, questions)) == [pages.search(question) for question in questions]
