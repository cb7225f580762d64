"""The adapter of a model family: all that differs between families and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from saccade.geometry import CoordinateConvention
from saccade.media.resize import ViewRule
from saccade.models.pixels import ImageProcessor, Patches


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageFeatures:
    """Features of one image from the vision tower."""

    tokens: Float[Tensor, "image_tokens hidden"]
    deepstack: tuple[Float[Tensor, "image_tokens hidden"], ...] = ()
    """Features added after the first language layers; empty where a family has none."""


class Family(Protocol):
    """The adapter of one family: checkpoints that transformers loads with one class. It holds no state."""

    @property
    def model_type(self) -> str:
        """As in ``config.json``."""
        ...

    @property
    def architecture(self) -> str:
        """The class in transformers, as ``config.json`` names it."""
        ...

    @property
    def convention(self) -> CoordinateConvention:
        """How the family writes boxes and points."""
        ...

    @property
    def eos_token(self) -> str:
        """Ends a turn."""
        ...

    @property
    def spoken_tokens(self) -> tuple[str, ...]:
        """Special tokens that the model itself may write besides the end of a turn; others are the environment's."""
        ...

    @property
    def weightless_tokens(self) -> tuple[str, ...]:
        """Special tokens of the published tokenizer that the model has no weights for."""
        ...

    @property
    def is_flat(self) -> bool:
        """Whether transformers takes the language model's sizes beside ``vision_config``, as they were published."""
        ...

    def check(
        self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
    ) -> None:
        """UserError when tokenizer or image processor do not fit the model."""
        ...

    def view_rule(self, image_processor: ImageProcessor, config: PreTrainedConfig) -> ViewRule:
        """How images are resized and how many tokens they take, as the checkpoint's own processor does it."""
        ...

    def bound_views(self, image_processor: ImageProcessor, *, min_pixels: int | None, max_pixels: int | None) -> None:
        """Sets the image processor so that views have an area within these bounds; None leaves a bound as it is."""
        ...

    def max_pixels(self, image_processor: ImageProcessor) -> int | None:
        """Largest area of a view by the image processor; None where views are made of tiles of one size."""
        ...

    def image_brackets(self, tokenizer: PreTrainedTokenizerFast) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Ids around an image's placeholders that the family's processor adds to what the chat template renders."""
        ...

    def processor_config(self, config: PreTrainedConfig) -> Mapping[str, object]:
        """Content of ``processor_config.json``, so that transformers counts alike; empty for no such file."""
        ...

    def prepare(self, image_processor: ImageProcessor, picture: Image.Image) -> Patches:
        """Pixels of one RGB picture as the vision tower takes them."""
        ...

    def encode(self, hf: PreTrainedModel, patches: Sequence[Patches]) -> list[ImageFeatures]:
        """Features of each image, in one forward of the vision tower on the model's device."""
        ...

    def positions(
        self, ids: Sequence[int], grids: Sequence[tuple[int, int]], *, image_token_id: int, start: int
    ) -> tuple[NDArray[np.int64], int]:
        """Positions (3, tokens) of a chunk of text and whole images, and the position of the token after it.

        ``grids`` are (rows, columns) of image tokens, one per image. ValueError when they do not match the ids.
        """
        ...

    def language_positions(self, positions: Int[Tensor, "3 rows tokens"]) -> Int[Tensor, "*axes rows tokens"]:
        """The ``position_ids`` of the language model."""
        ...

    def vision_modules(self, hf: PreTrainedModel) -> tuple[nn.Module, ...]:
        """The modules that turn pixels into image tokens."""
        ...


def image_runs(ids: Sequence[int], counts: Sequence[int], *, image_token_id: int) -> list[int]:
    """Where each image's placeholders begin in ``ids``; ValueError unless there are ``counts`` of them in a row."""
    is_image = np.asarray(ids, dtype=np.int64) == image_token_id
    index = 0
    starts: list[int] = []
    for count in counts:
        remaining = is_image[index:]
        if not remaining.any():
            raise ValueError(f"{len(counts)} images for fewer runs of image tokens")
        first = index + int(np.argmax(remaining))
        index = first + count
        if index > is_image.size or not is_image[first:index].all():
            raise ValueError(f"an image of {count} tokens has fewer placeholders at token {first}")
        starts.append(first)
    if is_image[index:].any():
        raise ValueError(f"image tokens at {index + int(np.argmax(is_image[index:]))} belong to no image")
    return starts
