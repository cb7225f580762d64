"""LanceDB behind the protocol of a page index; needs the extra ``lance``."""

from pathlib import Path

import pytest
from retrieval_samples import painted, pdf_of

pytest.importorskip("lancedb")

from saccade.errors import UserError
from saccade.retrieval import PageRetriever, build_index, open_index
from saccade.retrieval.lance import build_lance, open_lance
from saccade.testing.color_encoder import ColorEncoder


def test_it_finds_what_the_exact_search_finds(tmp_path: Path) -> None:
    painted(tmp_path / "folder" / "o'deck" / "1.png", "red red blue blue")
    painted(tmp_path / "folder" / "o'deck" / "2.png", "green green blue blue")
    pdf_of(tmp_path / "folder" / "report.pdf", "red", "green", "yellow", "black")
    build_index(tmp_path / "folder", ColorEncoder(), tmp_path / "index")
    exact = open_index(tmp_path / "index")
    with pytest.raises(UserError, match="has no table of pages"):
        open_lance(exact, tmp_path / "lance")
    build_lance(exact, tmp_path / "lance")
    ours, theirs = (PageRetriever(index, ColorEncoder()) for index in (exact, open_lance(exact, tmp_path / "lance")))
    for question in ("red and blue?", "yellow", "black or green?"):
        for document in (None, "o'deck", "report.pdf"):
            assert theirs.search(question, 2, document) == ours.search(question, 2, document)
    with pytest.raises(UserError, match="did you mean"):
        theirs.search("red", 1, "reprot.pdf")
    pdf_of(tmp_path / "folder" / "more.pdf", "white")
    build_index(tmp_path / "folder", ColorEncoder(), tmp_path / "index")
    with pytest.raises(UserError, match="the table has 6 pages, the index 7"):
        open_lance(open_index(tmp_path / "index"), tmp_path / "lance")
