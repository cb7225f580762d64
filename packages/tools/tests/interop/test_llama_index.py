"""The LlamaIndex retriever over a page index; needs the extra ``llama-index``."""

import base64
from pathlib import Path

import pytest
from PIL import Image

pytest.importorskip("llama_index.core")

from saccade.interop.llama_index import PageNodeRetriever
from saccade.media import decode_image
from saccade.retrieval import build_index, open_retriever
from saccade.testing.color_encoder import COLORS, ColorEncoder


def test_nodes_are_pictures_of_pages_with_their_scores(tmp_path: Path) -> None:
    (tmp_path / "folder" / "deck").mkdir(parents=True)
    for number, color in enumerate(("red", "blue", "green"), start=1):
        Image.new("RGB", (32, 32), COLORS[color]).save(tmp_path / "folder" / "deck" / f"{number}.png")
    build_index(tmp_path / "folder", ColorEncoder(), tmp_path / "index")
    pages = open_retriever(tmp_path / "index", ColorEncoder())
    found = PageNodeRetriever(pages, k=2, document="deck").retrieve("What is blue?")
    assert found[0].node.node_id == "deck#2"
    assert [node.score for node in found] == [hit.score for hit in pages.search("What is blue?", 2)]
    assert found[0].node.metadata == {"document": "deck", "page": 2}
    picture = decode_image(base64.b64decode(found[0].node.image), "a node")
    assert picture.getpixel((5, 5)) == COLORS["blue"]
