"""The parts of MaxSim by tokens and patches, on vectors made by hand and with a real encoder."""

import numpy as np
import pytest
from PIL import Image

from saccade.retrieval import PageMatch, maxsim, named_query, page_match
from saccade.testing.tiny_specialists import save_tiny
from saccade.vision_models import load_page_encoder
from saccade.vision_models.kinds import PageVectors

AXES = np.eye(4, dtype=np.float32)
# A vector beside the page, then two rows of two patches.
PAGE = PageVectors(vectors=AXES[[3, 0, 1, 2, 2]], grid=(2, 2), first=1)
QUERY = np.array([[0, 1, 0, 0], [0, 0.5, 0.25, 0], [0, 0, 1, 0], [0, 0, 0, 1], [-1, -1, -1, -1]], dtype=np.float32)


def test_each_token_meets_the_patch_that_it_is_most_like() -> None:
    match = page_match(QUERY, list("abcde"), PAGE)
    assert [(one.text, one.similarity, one.patch) for one in match.tokens] == [
        ("a", 1.0, (0, 1)),
        ("b", 0.5, (0, 1)),
        # Two patches are equal: the first counts.
        ("c", 1.0, (1, 0)),
        ("d", 1.0, None),
        ("e", -1.0, None),
    ]
    assert match.heat == {(0, 1): 1.5, (1, 0): 1.0}
    assert (match.elsewhere, match.score) == (0.0, 2.5)
    assert match.score == maxsim(QUERY, PAGE.vectors)


def test_a_page_without_a_grid_has_parts_at_no_place() -> None:
    match = page_match(QUERY, list("abcde"), PageVectors(vectors=PAGE.vectors))
    assert (match.heat, match.elsewhere, match.grid) == ({}, 2.5, None)
    assert PageMatch(tokens=(), grid=None).score == 0.0


def test_vectors_after_the_last_patch_are_at_no_place() -> None:
    page = PageVectors(vectors=AXES[[0, 1, 2, 3]], grid=(1, 2), first=1)
    match = page_match(AXES, list("abcd"), page)
    assert [one.patch for one in match.tokens] == [None, (0, 0), (0, 1), None]


@pytest.mark.parametrize("kind", ["colqwen2", "colpali", "colmodernvbert"])
def test_encoders_of_transformers_name_every_vector_of_a_question(
    kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    encoder = load_page_encoder(save_tiny(kind, tmp_path_factory.mktemp(kind)))
    query, tokens = named_query(encoder, "red and <image> blue")
    assert len(tokens) == len(query)
    assert "red" in "".join(tokens)
    [page] = encoder.encode_pages([Image.new("RGB", (90, 60), "red")])
    assert page_match(query, tokens, page).score == pytest.approx(maxsim(query, page.vectors), abs=1e-5)


def test_an_encoder_that_names_no_token_has_its_vectors_numbered() -> None:
    class Plain:
        identity, dimension = "plain", 4

        def encode_pages(self, images: object) -> list[PageVectors]:
            return [PAGE]

        def encode_questions(self, texts: object) -> list[np.ndarray]:
            return [QUERY[:2]]

    class Wrong(Plain):
        def question_tokens(self, text: str) -> list[str]:
            return ["one too few"]

    for encoder in (Plain(), Wrong()):
        assert named_query(encoder, "?")[1] == ["vector 1", "vector 2"]
