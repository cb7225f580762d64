"""Tiny real models of all families, and what the engine tests ask them."""

from collections.abc import Sequence
from copy import deepcopy

import pytest
import torch
from PIL import Image

from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Message, Tokens

TEXTS = [
    "What is written on the red plate? Look closer with the tool.",
    "<think>It is too small to read.</think><tool_call>crop 1 2 3 4</tool_call>",
    "<think>Now I can read it.</think><answer>rows</answer>",
]


@pytest.fixture(scope="session")
def media() -> MediaStore:
    return MediaStore()


@pytest.fixture(scope="session", params=["qwen3_vl", "qwen2_5_vl", "qwen3_5", "internvl"])
def model(request: pytest.FixtureRequest, media: MediaStore) -> VisionLanguageModel:
    size = TinySize(layers=2, deepstack=request.param == "qwen3_vl", max_tiles=3)
    return tiny_model(TEXTS, media, family=request.param, size=size, numbers=range(0, 1000, 50), vocab_size=512)


@pytest.fixture(scope="session")
def picture(media: MediaStore):
    """Picture number n: a two-coloured image of its own shape and content."""

    def make(number: int, width: int = 96, height: int = 64) -> ImageRef:
        image = Image.new("RGB", (width, height), (40 * number % 256, 90, 200))
        image.paste((250, 10 * number % 256, 30), (number, number, number + 20, number + 30))
        return media.add(image)

    return make


@pytest.fixture(scope="session")
def prompt(model: VisionLanguageModel):
    """A prompt of some images and a text."""

    def make(text: str, *images: ImageRef) -> Tokens:
        return model.chat.prompt([Message(role="user", parts=(*images, text))])

    return make


@pytest.fixture(scope="session")
def plain_logits():
    """Logits (tokens, vocabulary) of one forward of transformers' own model from ids and pixels."""

    @torch.no_grad()
    def forward(model: VisionLanguageModel, ids: Sequence[int], images: Sequence[ImageRef]) -> torch.Tensor:
        patches = model.patches.get(images)
        tokens = torch.tensor([ids])
        seen = {"pixel_values": torch.cat([patch.values for patch in patches])} if patches else {}
        if patches and model.family.model_type != "internvl":
            seen["image_grid_thw"] = torch.tensor([[1, patch.rows, patch.columns] for patch in patches])
            seen["mm_token_type_ids"] = (tokens == model.image_token_id).int()
        return model.hf(input_ids=tokens, **seen).logits[0]

    return forward


@pytest.fixture(scope="session")
def twin():
    """The same model in memory of its own, as a server has it."""

    def copy(model: VisionLanguageModel) -> VisionLanguageModel:
        return VisionLanguageModel(
            deepcopy(model.hf), model.tokenizer, model.image_processor, model.media, observation_role=None
        )

    return copy
