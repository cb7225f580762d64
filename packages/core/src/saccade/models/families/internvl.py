"""InternVL3 in the layout of transformers: square tiles and a thumbnail, plain positions, boxes in 0 to 1000."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from PIL import Image
from transformers import PreTrainedConfig, PreTrainedTokenizerFast

from saccade.errors import UserError
from saccade.media.resize import TileRule, ViewRule
from saccade.models.chat import ImageLayout
from saccade.models.families.family import Family, check_tokens
from saccade.models.pixels import ImageProcessor, Patches
from saccade.types import ImageRef

_IMAGE_START, _IMAGE_END = "<img>", "</img>"


@dataclass(frozen=True, kw_only=True)
class InternVLFamily(Family):
    """Checkpoints of ``InternVLForConditionalGeneration``; see ``Family`` for what each method gives."""

    def check(
        self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
    ) -> None:
        check_tokens(tokenizer, _IMAGE_START, _IMAGE_END)
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

    def image_layout(self, view: ViewRule, image: ImageRef) -> ImageLayout:
        return _IMAGE_START, view.token_count(image), _IMAGE_END

    def processor_config(self, config: PreTrainedConfig) -> dict[str, object]:
        return {"image_seq_length": int(config.image_seq_length), "processor_class": "InternVLProcessor"}

    def prepare(self, image_processor: ImageProcessor, picture: Image.Image) -> Patches:
        # The published files say crop_to_patches=false; it is the family's processor that always asks for tiles.
        made = image_processor(images=[picture], return_tensors="pt", crop_to_patches=True)
        tiles = made["pixel_values"].to(torch.float32)
        return Patches(values=tiles, rows=len(tiles), columns=1)


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


INTERNVL = InternVLFamily(
    model_type="internvl",
    architecture="InternVLForConditionalGeneration",
    spoken_tokens=("<ref>", "</ref>", "<box>", "</box>", "<quad>", "</quad>"),
    # The processor writes image tokens in its place.
    weightless_tokens=("<video>",),
)
