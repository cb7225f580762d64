"""Idefics3 and SmolVLM: a picture enlarged to whole tiles and a view of the whole, each announced in the text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isqrt
from typing import Any

import torch
from PIL import Image
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from saccade.errors import UserError
from saccade.media.resize import TileRule, ViewRule
from saccade.models.chat import ImageLayout
from saccade.models.families.family import Family, ImageFeatures, by_image, check_tokens
from saccade.models.memory import sent
from saccade.models.pixels import ImageProcessor, Patches
from saccade.types import ImageRef

_AROUND, _WHOLE = "<fake_token_around_image>", "<global-img>"
_LARGEST_EDGE = 4096
"""Of any picture in the image processor."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeTileRule(TileRule):
    """Tiles of a picture whose longest edge becomes ``edge_px`` before it is stretched over whole tiles."""

    edge_px: int

    def grid(self, width: int, height: int) -> tuple[int, int]:
        if self.max_tiles <= 1:
            return 1, 1
        # Whole pixels are taken after each step, as in the image processor: another order gives other tiles.
        is_wide = width >= height
        width, height = _resized(width, height, self.edge_px)
        width, height = (width, height + height % 2) if is_wide else (width + width % 2, height)
        if max(width, height) > _LARGEST_EDGE:
            width, height = _resized(width, height, _LARGEST_EDGE)
        width, height = _resized(width, height, ceil(max(width, height) / self.tile_px) * self.tile_px)
        return ceil(width / self.tile_px), ceil(height / self.tile_px)


def _resized(width: int, height: int, longest: int) -> tuple[int, int]:
    """(width, height) with this longest edge, the other cut off to whole pixels."""
    aspect = width / height
    return (longest, max(1, int(longest / aspect))) if width >= height else (max(1, int(longest * aspect)), longest)


@dataclass(frozen=True, kw_only=True)
class Idefics3Family(Family):
    """Checkpoints of Idefics3, and of SmolVLM, which came from it; see ``Family`` for what each method gives."""

    eos_token: str = "<end_of_utterance>"
    language: str = "model.text_model"

    def check(
        self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
    ) -> None:
        check_tokens(tokenizer, _AROUND, _WHOLE)
        tile, side = _tile_px(image_processor), int(config.vision_config.image_size)
        if tile != side or "longest_edge" not in dict(image_processor.size):
            raise UserError(
                f"preprocessor_config.json gives a {type(image_processor).__name__} with tiles of {tile} px and "
                f"size={dict(image_processor.size)}, and the model has tiles of {side} px and a longest_edge; copy "
                "that file of this model again"
            )

    def view_rule(self, image_processor: ImageProcessor, config: PreTrainedConfig) -> EdgeTileRule:
        tile, edge = _tile_px(image_processor), int(image_processor.size["longest_edge"])
        # By rounding, the shorter edge may have a tile more than the longest.
        largest = (ceil(edge / tile) + 1) ** 2 if getattr(image_processor, "do_image_splitting", True) else 1
        return EdgeTileRule(
            tile_px=tile,
            tokens_per_tile=_tokens_per_tile(config),
            min_tiles=1,
            max_tiles=largest,
            edge_px=edge,
            convention=self.convention,
        )

    def bound_views(self, image_processor: ImageProcessor, *, min_pixels: int | None, max_pixels: int | None) -> None:
        # Of a square picture; a longer one has fewer pixels. A view is never less than a tile.
        tile = _tile_px(image_processor)
        edge = int(image_processor.size["longest_edge"])
        if max_pixels:
            edge = min(edge, max(1, isqrt(max_pixels) // tile) * tile)
        if min_pixels:
            edge = max(edge, ceil(isqrt(min_pixels) / tile) * tile)
        image_processor.size = {"longest_edge": edge}

    def planned_pixels(self, settings: Mapping[str, Any]) -> int | None:
        tile = int((settings.get("max_image_size") or {}).get("longest_edge") or 0)
        edge = int((settings.get("size") or {}).get("longest_edge") or 0)
        return (ceil(edge / tile) ** 2 + 1) * tile**2 if tile and edge else None

    def merge(self, config: PreTrainedConfig) -> int:
        return int(config.scale_factor)

    def image_layout(self, view: ViewRule, image: ImageRef) -> ImageLayout:
        assert isinstance(view, TileRule)
        columns, rows = view.grid(image.width, image.height)
        whole: ImageLayout = (f"{_AROUND}{_WHOLE}", view.tokens_per_tile, _AROUND)
        if rows * columns == 1:
            return whole
        layout: list[str | int] = []
        for row in range(1, rows + 1):
            for column in range(1, columns + 1):
                after_row = "\n" if row > 1 and column == 1 else ""
                layout += [f"{after_row}{_AROUND}<row_{row}_col_{column}>", view.tokens_per_tile]
        return (*layout, f"\n\n{whole[0]}", *whole[1:])

    def processor_config(self, config: PreTrainedConfig) -> dict[str, object]:
        name = self.architecture.removesuffix("ForConditionalGeneration")
        return {"image_seq_len": _tokens_per_tile(config), "processor_class": f"{name}Processor"}

    def prepare(self, image_processor: ImageProcessor, picture: Image.Image) -> Patches:
        [tiles] = image_processor(images=[picture], return_tensors="pt")["pixel_values"].to(torch.float32)
        return Patches(values=tiles, rows=len(tiles), columns=1)

    def encode(self, hf: PreTrainedModel, patches: Sequence[Patches]) -> list[ImageFeatures]:
        pixels = sent(torch.cat([patch.values for patch in patches]).to(hf.dtype), hf.device)
        # All tiles as those of one text, which the class asks for.
        return by_image(hf.model.get_image_features(pixel_values=pixels[None], return_dict=True).pooler_output, patches)


def _tile_px(image_processor: ImageProcessor) -> int:
    return int(dict(getattr(image_processor, "max_image_size", None) or {}).get("longest_edge") or 0)


def _tokens_per_tile(config: PreTrainedConfig) -> int:
    return int((config.vision_config.image_size // config.vision_config.patch_size) ** 2 // config.scale_factor**2)


IDEFICS3 = Idefics3Family(model_type="idefics3", architecture="Idefics3ForConditionalGeneration")
SMOLVLM = Idefics3Family(model_type="smolvlm", architecture="SmolVLMForConditionalGeneration")
