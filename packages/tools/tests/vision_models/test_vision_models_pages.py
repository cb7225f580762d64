"""Encoders of pages: the vectors of transformers' own processors and models, none for padding, from disk alone."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import ColPaliForRetrieval, ColPaliProcessor, ColQwen2ForRetrieval, ColQwen2Processor

from saccade.errors import UserError
from saccade.retrieval import maxsim
from saccade.vision_models import load_page_encoder

KINDS = ("colpali", "colqwen2", "colmodernvbert")


@pytest.fixture
def wide(picture: Image.Image) -> Image.Image:
    return picture.resize((160, 60))


@pytest.mark.parametrize("kind", KINDS)
def test_pages_and_questions_have_unit_vectors(checkpoints, kind: str, picture: Image.Image, wide: Image.Image) -> None:
    encoder = load_page_encoder(checkpoints(kind))
    pages = encoder.encode_pages([picture, wide])
    questions = encoder.encode_questions(["What is red?", ""])
    assert {vectors.shape[1] for vectors in [*(page.vectors for page in pages), *questions]} == {encoder.dimension}
    for vectors in [*(page.vectors for page in pages), *questions]:
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(vectors)), abs=1e-5)
    # No page and no question depends on what it is encoded with.
    assert np.array_equal(encoder.encode_pages([wide])[0].vectors, pages[1].vectors)
    assert np.array_equal(encoder.encode_questions([""])[0], questions[1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_with_the_tokenizers_own_marks_is_one_in_words(checkpoints, kind: str) -> None:
    encoder = load_page_encoder(checkpoints(kind))
    marks = ["<|image_pad|>", "<image>", "<im<image>age>", "<|vision_start|><|image_pad|>", "<pad>"]
    for vectors in encoder.encode_questions(marks):
        assert np.isfinite(vectors).all()
    mark = {"colqwen2": "<|image_pad|>"}.get(kind, "<image>")
    assert np.array_equal(*encoder.encode_questions([f"red {mark}", "red  "]))


@pytest.mark.parametrize(
    ("kind", "model_class", "processor_class"),
    [("colqwen2", ColQwen2ForRetrieval, ColQwen2Processor), ("colpali", ColPaliForRetrieval, ColPaliProcessor)],
)
def test_scores_are_those_of_transformers(
    checkpoints, kind: str, model_class, processor_class, picture: Image.Image, wide: Image.Image
) -> None:
    encoder = load_page_encoder(checkpoints(kind))
    (question,) = encoder.encode_questions(["Is it blue?"])
    ours = [maxsim(question, page.vectors) for page in encoder.encode_pages([picture, wide])]
    model, processor = (
        model_class.from_pretrained(checkpoints(kind)),
        processor_class.from_pretrained(checkpoints(kind)),
    )
    with torch.inference_mode():
        query = model(**processor.process_queries(text=["Is it blue?"])).embeddings
        theirs = [
            processor.score_retrieval(query, model(**processor.process_images(images=[image])).embeddings).item()
            for image in (picture, wide)
        ]
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_patches_are_told_by_their_place(checkpoints, picture: Image.Image, wide: Image.Image) -> None:
    square, tall = (load_page_encoder(checkpoints(kind)).encode_pages([wide])[0] for kind in ("colpali", "colqwen2"))
    tiled = load_page_encoder(checkpoints("colmodernvbert")).encode_pages([picture])[0]
    assert (square.grid, square.first) == ((4, 4), 0)
    assert tall.grid is not None
    assert tall.grid[0] < tall.grid[1]
    # Behind them stand the other tokens of the prompt.
    assert tall.first + tall.grid[0] * tall.grid[1] < len(tall.vectors)
    assert tiled.grid is None


def test_an_encoder_is_the_same_while_its_files_are(checkpoints, tmp_path: Path) -> None:
    first = load_page_encoder(checkpoints("colqwen2")).identity
    copied = shutil.copytree(checkpoints("colqwen2"), tmp_path / "copy")
    (copied / "README.md").write_text("Words about it.")
    assert load_page_encoder(copied).identity == first
    settings = json.loads((copied / "processor_config.json").read_text())
    settings["query_prefix"] = "Question: "
    (copied / "processor_config.json").write_text(json.dumps(settings))
    assert load_page_encoder(copied).identity != first


def test_what_is_no_encoder_is_refused_with_what_would_be(checkpoints) -> None:
    with pytest.raises(
        UserError, match=r"the type 'sam', which is no encoder of pages; use one of ColPali \(colpali\)"
    ):
        load_page_encoder(checkpoints("sam"))
