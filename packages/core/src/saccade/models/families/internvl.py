"""InternVL3 in the layout of transformers: square tiles and a thumbnail, plain positions, boxes in 0 to 1000."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from saccade.errors import UserError
from saccade.geometry import CoordinateConvention
from saccade.media.resize import TileRule
from saccade.models.families.family import ImageFeatures, image_runs
from saccade.models.pixels import ImageProcessor, Patches

_IMAGE_START, _IMAGE_END = "<img>", "</img>"


@dataclass(frozen=True, kw_only=True, slots=True)
class InternVLFamily:
    """Checkpoints of ``InternVLForConditionalGeneration``; see ``Family`` for what each method gives."""

    model_type: str = "internvl"
    architecture: str = "InternVLForConditionalGeneration"
    convention: CoordinateConvention = "relative_1000"
    eos_token: str = "<|im_end|>"
    spoken_tokens: tuple[str, ...] = ("<ref>", "</ref>", "<box>", "</box>", "<quad>", "</quad>")
    # The processor writes image tokens in its place.
    weightless_tokens: tuple[str, ...] = ("<video>",)
    is_flat: bool = False

    def check(
        self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
    ) -> None:
        vocabulary = tokenizer.get_vocab()
        for token in (_IMAGE_START, _IMAGE_END):
            if token not in vocabulary:
                raise UserError(f"the tokenizer has no {token}, which stands beside every image; use the model's own")
        size = dict(image_processor.size)
        if not all(hasattr(image_processor, name) for name in ("min_patches", "max_patches")) or "height" not in size:
            raise UserError(
                f"preprocessor_config.json gives a {type(image_processor).__name__} with size={size} and no tiles, "
                f"which is not for {self.model_type}; copy that file of this model again"
            )
        sides = _sides(config.vision_config.image_size)
        if (size["height"], size["width"]) != sides:
            raise UserError(
                f"size={size} in preprocessor_config.json, but the model has tiles of {sides[0]} x {sides[1]}"
            )
        if sides[0] != sides[1] or int(config.image_seq_length) != _tokens_per_tile(config):
            raise UserError(
                f"image_seq_length={config.image_seq_length} in config.json, but a tile of {sides[0]} x {sides[1]} px "
                f"gives {_tokens_per_tile(config)} tokens; copy the checkpoint again"
            )

    def view_rule(self, image_processor: ImageProcessor, config: PreTrainedConfig) -> TileRule:
        return TileRule(
            tile_px=int(image_processor.size["height"]),
            tokens_per_tile=_tokens_per_tile(config),
            min_tiles=int(image_processor.min_patches),
            max_tiles=int(image_processor.max_patches),
            convention=self.convention,
        )

    def bound_views(self, image_processor: ImageProcessor, *, min_pixels: int | None, max_pixels: int | None) -> None:
        area = int(image_processor.size["height"]) * int(image_processor.size["width"])
        fewest = math.ceil(min_pixels / area) if min_pixels else int(image_processor.min_patches)
        # A view is never less than a tile.
        most = max(1, max_pixels // area) if max_pixels else int(image_processor.max_patches)
        if fewest > most:
            # Only one of the two was given, or no whole number of tiles lies between them: the largest is a promise.
            fewest = most = most if max_pixels else fewest
        image_processor.min_patches, image_processor.max_patches = fewest, most

    def max_pixels(self, image_processor: ImageProcessor) -> int | None:
        return None

    def image_brackets(self, tokenizer: PreTrainedTokenizerFast) -> tuple[tuple[int, ...], tuple[int, ...]]:
        start, end = (int(tokenizer.convert_tokens_to_ids(token)) for token in (_IMAGE_START, _IMAGE_END))
        return (start,), (end,)

    def processor_config(self, config: PreTrainedConfig) -> dict[str, object]:
        return {"image_seq_length": int(config.image_seq_length), "processor_class": "InternVLProcessor"}

    def prepare(self, image_processor: ImageProcessor, picture: Image.Image) -> Patches:
        # The published files say crop_to_patches=false; it is the family's processor that always asks for tiles.
        made = image_processor(images=[picture], return_tensors="pt", crop_to_patches=True)
        tiles = made["pixel_values"].to(torch.float32)
        return Patches(values=tiles, rows=len(tiles), columns=1)

    def encode(self, hf: PreTrainedModel, patches: Sequence[Patches]) -> list[ImageFeatures]:
        pixels = torch.cat([patch.values for patch in patches]).to(hf.device, hf.dtype)
        output = hf.model.get_image_features(pixel_values=pixels, return_dict=True)
        by_image = output.pooler_output.split([len(patch.values) for patch in patches])
        return [ImageFeatures(tokens=tiles.flatten(0, 1)) for tiles in by_image]

    def positions(
        self, ids: Sequence[int], grids: Sequence[tuple[int, int]], *, image_token_id: int, start: int
    ) -> tuple[NDArray[np.int64], int]:
        counts = [rows * columns for rows, columns in grids]
        return plain_positions(ids, counts, image_token_id=image_token_id, start=start)

    def language_positions(self, positions: Int[Tensor, "3 rows tokens"]) -> Int[Tensor, "*axes rows tokens"]:
        return positions[0]

    def vision_modules(self, hf: PreTrainedModel) -> tuple[nn.Module, ...]:
        return hf.model.vision_tower, hf.model.multi_modal_projector


def _sides(size: int | Sequence[int]) -> tuple[int, int]:
    """(height, width) of what a configuration gives as one number or two."""
    if isinstance(size, int):
        return size, size
    height, width = size
    return int(height), int(width)


def _tokens_per_tile(config: PreTrainedConfig) -> int:
    """Patches of a tile after the pixel shuffle, which folds each square of neighbours into one token."""
    vision = config.vision_config
    rows, columns = (
        int(side // patch * config.downsample_ratio)
        for side, patch in zip(_sides(vision.image_size), _sides(vision.patch_size))
    )
    return rows * columns


def plain_positions(
    ids: Sequence[int], counts: Sequence[int], *, image_token_id: int, start: int = 0
) -> tuple[NDArray[np.int64], int]:
    """Positions of shape (3, tokens), the same on all axes and one further with each token, and the next position.

    ``counts`` are the placeholders of each image in ``ids``.
    """
    image_runs(ids, counts, image_token_id=image_token_id)
    positions = np.broadcast_to(start + np.arange(len(ids), dtype=np.int64), (3, len(ids)))
    return positions.copy(), start + len(ids)


INTERNVL = InternVLFamily()
