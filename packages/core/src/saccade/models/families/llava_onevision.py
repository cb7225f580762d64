"""LLaVA-OneVision: a picture fitted into whole tiles, its padding cut off again, and a token after each row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod, sqrt
from typing import Any

import torch
from PIL import Image
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
from transformers.image_processing_utils import select_best_resolution

from saccade.errors import UserError
from saccade.geometry import Box, CoordinateConvention, Frame
from saccade.media.resize import TokenBlock, ViewRule, frame_of_view
from saccade.models.families.family import Family, ImageFeatures
from saccade.models.memory import sent
from saccade.models.pixels import ImageProcessor, Patches
from saccade.types import ImageRef


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedTileRule:
    """The image enlarged until it fills one side of a grid of tiles, and one stretched over a tile before it."""

    tile_px: int
    side: int
    """Tokens along the side of a tile."""
    grids: tuple[tuple[int, int], ...]
    """(height, width) in pixels, of which the one is taken that shows most of the image and wastes least."""
    most_tiles: int
    """Larger views are shrunk to about as many tokens as so many tiles have."""
    convention: CoordinateConvention

    @property
    def largest_pixels(self) -> int:
        return max(map(prod, self.grids))

    def view_size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) in pixels of the image inside its grid, without what is padded."""
        across, down = fitting_grid(width, height, self.grids)
        scale = min(across / width, down / height)
        return max(1, min(across, round(width * scale))), max(1, min(down, round(height * scale)))

    def frame_for(self, image: ImageRef) -> Frame:
        return frame_of_view(image, self.view_size(image.width, image.height), self.convention)

    def cells(self, image: ImageRef) -> tuple[int, int]:
        """(rows, columns) of features that show the image in its tiles, without the token that ends each row."""
        across, down = fitting_grid(image.width, image.height, self.grids)
        rows, columns = self.side * (down // self.tile_px), self.side * (across // self.tile_px)
        # In this order and rounded so, as the model cuts the padding off.
        if image.width / image.height > columns / rows:
            rows -= (rows - int(round(image.height * (columns / image.width), 7))) // 2 * 2
        else:
            columns -= (columns - int(round(image.width * (rows / image.height), 7))) // 2 * 2
        ratio = sqrt(rows * columns / (self.most_tiles * self.side**2))
        return (int(rows // ratio), int(columns // ratio)) if ratio > 1.1 else (rows, columns)

    def token_grid(self, image: ImageRef) -> tuple[int, int]:
        return 1, self.token_count(image)

    def token_count(self, image: ImageRef) -> int:
        rows, columns = self.cells(image)
        return self.side**2 + rows * (columns + 1)

    def token_blocks(self, image: ImageRef) -> tuple[TokenBlock, ...]:
        """The whole, then the tiles, where the token after each row lies beside the image."""
        rows, columns = self.cells(image)
        whole = Box(0, 0, image.width, image.height)
        # A picture that is thinner than a feature has none in its tiles.
        beside = Box(0, 0, image.width * (columns + 1) / max(1, columns) + (columns == 0), image.height)
        tiles = (TokenBlock(rows, columns + 1, beside),) if rows else ()
        return (TokenBlock(self.side, self.side, whole), *tiles)


@lru_cache(maxsize=4096)
def fitting_grid(width: int, height: int, grids: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """(width, height) in pixels of the grid of tiles for an original of this size."""
    down, across = select_best_resolution((height, width), list(grids))
    return int(across), int(down)


@dataclass(frozen=True, kw_only=True)
class LlavaOnevisionFamily(Family):
    """Checkpoints of ``LlavaOnevisionForConditionalGeneration``; see ``Family`` for what each method gives."""

    def check(
        self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
    ) -> None:
        tile, size = config.vision_config.image_size, dict(image_processor.size)
        if (size.get("height"), size.get("width")) != (tile, tile):
            raise UserError(f"size={size} in preprocessor_config.json, but the model has tiles of {tile} x {tile}")
        ours, theirs = (sorted(map(list, part.image_grid_pinpoints)) for part in (image_processor, config))
        if ours != theirs or any(side % tile for grid in theirs for side in grid):
            raise UserError(
                "image_grid_pinpoints in preprocessor_config.json and in config.json must be the same, and whole tiles "
                f"of {tile} px; copy both files of this model again"
            )
        if config.vision_feature_select_strategy != "full" or not config.vision_aspect_ratio.startswith("anyres_max_"):
            raise UserError("this LLaVA drops a token of its tower or does not shrink large views, which is not for us")

    def view_rule(self, image_processor: ImageProcessor, config: PreTrainedConfig) -> ViewRule:
        vision = config.vision_config
        return FittedTileRule(
            tile_px=int(vision.image_size),
            side=int(vision.image_size // vision.patch_size),
            grids=tuple((int(height), int(width)) for height, width in config.image_grid_pinpoints),
            most_tiles=int(config.vision_aspect_ratio.removeprefix("anyres_max_")),
            convention=self.convention,
        )

    def bound_views(self, image_processor: ImageProcessor, *, min_pixels: int | None, max_pixels: int | None) -> None:
        grids = image_processor.image_grid_pinpoints
        # A view is never less than a tile, nor more than the checkpoint's largest; the largest is a promise.
        within = [grid for grid in grids if prod(grid) <= (max_pixels or prod(grid))] or [min(grids, key=prod)]
        fits = [grid for grid in within if prod(grid) >= (min_pixels or 0)] or [max(within, key=prod)]
        image_processor.image_grid_pinpoints = fits

    def take_views(self, config: PreTrainedConfig, image_processor: ImageProcessor) -> None:
        config.image_grid_pinpoints = image_processor.image_grid_pinpoints

    def planned_pixels(self, settings: Mapping[str, Any]) -> int | None:
        tile, grids = super().planned_pixels(settings) or 0, settings.get("image_grid_pinpoints") or []
        # What is beyond nine tiles by a fifth is shrunk to nine.
        return tile + min(max(map(prod, grids), default=0), 11 * tile) or None

    def merge(self, config: PreTrainedConfig) -> int:
        return 1

    def processor_config(self, config: PreTrainedConfig) -> dict[str, object]:
        tokens = (config.vision_config.image_size // config.vision_config.patch_size) ** 2
        shrunk = {"vision_aspect_ratio": config.vision_aspect_ratio, "vision_feature_select_strategy": "full"}
        return {**shrunk, "num_image_tokens": tokens, "processor_class": "LlavaOnevisionProcessor"}

    def prepare(self, image_processor: ImageProcessor, picture: Image.Image) -> Patches:
        [tiles] = image_processor(images=[picture], return_tensors="pt")["pixel_values"].to(torch.float32)
        return Patches(values=tiles, rows=picture.height, columns=picture.width)

    def encode(self, hf: PreTrainedModel, patches: Sequence[Patches]) -> list[ImageFeatures]:
        pixels = sent(torch.cat([patch.values for patch in patches]).to(hf.dtype), hf.device)
        sizes = torch.tensor([[patch.rows, patch.columns] for patch in patches])
        found = hf.model.get_image_features(pixel_values=pixels, image_sizes=sizes, return_dict=True).pooler_output
        return [ImageFeatures(tokens=tokens) for tokens in found]


LLAVA_ONEVISION = LlavaOnevisionFamily(
    model_type="llava_onevision", architecture="LlavaOnevisionForConditionalGeneration"
)
