"""Qwen2-VL, Qwen2.5-VL, Qwen3-VL (MoE too) and Qwen3.5: views of any shape in whole patches, M-RoPE positions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from saccade.errors import UserError
from saccade.media.resize import ResizeRule, TokenGrid
from saccade.media.video_rule import VideoRule
from saccade.models.families.family import Family, ImageFeatures, image_runs
from saccade.models.memory import sent
from saccade.models.pixels import ImageProcessor, Patches


@dataclass(frozen=True, kw_only=True)
class QwenFamily(Family):
    """A generation of Qwen-VL; see ``Family`` for what each method gives."""

    spoken_tokens: tuple[str, ...] = (
        "<|object_ref_start|>",
        "<|object_ref_end|>",
        "<|box_start|>",
        "<|box_end|>",
        "<|quad_start|>",
        "<|quad_end|>",
    )
    video: VideoRule = VideoRule(before="<{mean:.1f} seconds>", bounds=(4096, 25_165_824))
    """Bounds are those that the video processor was published with."""

    def check(
        self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
    ) -> None:
        for name, theirs in (
            ("patch_size", config.vision_config.patch_size),
            ("merge_size", config.vision_config.spatial_merge_size),
            ("temporal_patch_size", config.vision_config.temporal_patch_size),
        ):
            ours = getattr(image_processor, name, None)
            if ours is None:
                raise UserError(
                    f"preprocessor_config.json gives a {type(image_processor).__name__} without {name}, which is not "
                    f"for {self.model_type}; copy that file of this model again"
                )
            if ours != theirs:
                raise UserError(f"{name}={ours} in preprocessor_config.json, but the model has {theirs}")
        size = dict(image_processor.size)
        edges = [size.get(name) for name in ("shortest_edge", "longest_edge")]
        if not all(isinstance(edge, int | float) and edge > 0 for edge in edges):
            raise UserError(
                f"size={size} in preprocessor_config.json must give a positive shortest_edge and longest_edge, the "
                "areas in pixels that views lie between"
            )

    def view_rule(self, image_processor: ImageProcessor, config: PreTrainedConfig) -> ResizeRule:
        size = image_processor.size
        return ResizeRule(
            factor=int(image_processor.patch_size) * int(image_processor.merge_size),
            min_pixels=int(size["shortest_edge"]),
            max_pixels=int(size["longest_edge"]),
            convention=self.convention,
            video=self.video_rule(config),
        )

    def video_rule(self, config: PreTrainedConfig) -> VideoRule | None:
        """``video`` with the model's own numbers; None where its tower sees one frame at a time."""
        frames = int(config.vision_config.temporal_patch_size)
        rate = float(getattr(config.vision_config, "tokens_per_second", 0)) if self.video.is_whole else 0.0
        return replace(self.video, frames=frames, positions_per_second=rate) if frames > 1 else None

    def bound_views(self, image_processor: ImageProcessor, *, min_pixels: int | None, max_pixels: int | None) -> None:
        smallest = min_pixels or image_processor.size["shortest_edge"]
        largest = max_pixels or image_processor.size["longest_edge"]
        if smallest > largest:
            # Only one of the two was given: it moves the other.
            smallest = largest = min_pixels or max_pixels or largest
        image_processor.size = {"shortest_edge": smallest, "longest_edge": largest}

    def max_pixels(self, image_processor: ImageProcessor) -> int | None:
        return int(image_processor.size["longest_edge"])

    def prepare(self, image_processor: ImageProcessor, picture: Image.Image) -> Patches:
        made = image_processor(images=[picture], return_tensors="pt")
        _, rows, columns = (int(side) for side in made["image_grid_thw"][0])
        patch = int(image_processor.patch_size)
        pixels = made["pixel_values"].to(torch.float32)
        # A still picture stands in all frames of a patch alike: (patches, channels, frames, height, width).
        frames = pixels.view(len(pixels), -1, int(image_processor.temporal_patch_size), patch, patch)
        return Patches(values=frames[:, :, 0].flatten(1), rows=rows, columns=columns)

    def prepare_frames(self, image_processor: ImageProcessor, frames: Sequence[Image.Image]) -> Patches:
        patch, joined = int(image_processor.patch_size), int(image_processor.temporal_patch_size)
        if joined < 2 or len(frames) % joined:
            return super().prepare_frames(image_processor, frames)
        made = image_processor(images=[*frames], return_tensors="pt", do_resize=False)
        _, rows, columns = (int(side) for side in made["image_grid_thw"][0])
        pixels = made["pixel_values"].to(torch.float32)
        # One still picture after the other: (times, frames, patches, channels, the same frame again, pixels).
        stills = pixels.view(-1, joined, rows * columns, pixels.shape[1] // joined // patch**2, joined, patch**2)
        values = stills[..., 0, :].permute(0, 2, 3, 1, 4).flatten(2).flatten(0, 1)
        return Patches(values=values, rows=rows, columns=columns, times=len(frames) // joined)

    def encode(self, hf: PreTrainedModel, patches: Sequence[Patches]) -> list[ImageFeatures]:
        cut = hf.config.vision_config
        area = int(cut.patch_size) ** 2
        shown = [patch.values.view(len(patch.values), int(cut.in_channels), -1, area) for patch in patches]
        if any(one.shape[2] > 1 for one in shown):
            shown = [one.expand(-1, -1, cut.temporal_patch_size, -1) for one in shown]
        still = sent(torch.cat(shown).to(hf.dtype), hf.device)
        frames = still.view(*still.shape[:3], cut.patch_size, cut.patch_size)
        pixels = frames.expand(-1, -1, cut.temporal_patch_size, -1, -1)
        grid = torch.tensor([[patch.times, patch.rows, patch.columns] for patch in patches])
        # A run that samples by vLLM alone has no need of it.
        from saccade.models.vision_grids import is_known_tower, tower_inputs

        tower = hf.model.visual
        derived = tower_inputs(tower, grid, hf.device) if is_known_tower(tower) else {}
        grid = grid if derived else grid.to(hf.device)
        output = hf.model.get_image_features(pixels, grid, return_dict=True, **derived)
        deepstack = list(zip(*(getattr(output, "deepstack_features", None) or [])))
        return [
            ImageFeatures(tokens=tokens, deepstack=tuple(deepstack[index]) if deepstack else ())
            for index, tokens in enumerate(output.pooler_output)
        ]

    def positions(
        self, ids: Sequence[int], grids: Sequence[TokenGrid], *, image_token_id: int, start: int
    ) -> tuple[NDArray[np.int64], int]:
        return mrope_positions(ids, grids, image_token_id=image_token_id, start=start)

    def language_positions(self, positions: Int[Tensor, "3 rows tokens"]) -> Int[Tensor, "*axes rows tokens"]:
        return positions


def mrope_positions(
    ids: Sequence[int], grids: Sequence[TokenGrid], *, image_token_id: int, start: int = 0
) -> tuple[NDArray[np.int64], int]:
    """Positions of shape (3, tokens) for time, height and width, and the position where the next token goes.

    ``grids`` are one per image in ``ids``. Text advances all three axes by one a token; an image lies at one time,
    spreads over height and width, and advances by its longer side. So does a whole video, whatever its length, as
    transformers has it since 5.3; before, and in vLLM, text goes on behind the last time where that is farther.
    """
    counts = [rows * columns * max(1, len(times)) for rows, columns, *times in grids]
    runs = image_runs(ids, counts, image_token_id=image_token_id)
    positions = np.empty((3, len(ids)), dtype=np.int64)
    index, position = 0, start
    for first, count, (rows, columns, *times) in zip(runs, counts, grids):
        positions[:, index:first] = position + np.arange(first - index)
        position += first - index
        index = first + count
        positions[0, first:index] = position + np.repeat(times or [0], rows * columns)
        positions[1, first:index] = position + np.tile(np.repeat(np.arange(rows), columns), len(times) or 1)
        positions[2, first:index] = position + np.tile(np.arange(columns), count // columns)
        position += max(rows, columns)
    positions[:, index:] = position + np.arange(len(ids) - index)
    return positions, position + len(ids) - index


_WHOLE = VideoRule(is_whole=True)
QWEN2_VL = QwenFamily(model_type="qwen2_vl", architecture="Qwen2VLForConditionalGeneration", is_flat=True, video=_WHOLE)
QWEN2_5_VL = QwenFamily(
    model_type="qwen2_5_vl",
    architecture="Qwen2_5_VLForConditionalGeneration",
    convention="absolute",
    is_flat=True,
    video=_WHOLE,
)
QWEN3_VL = QwenFamily(model_type="qwen3_vl", architecture="Qwen3VLForConditionalGeneration")
QWEN3_VL_MOE = QwenFamily(model_type="qwen3_vl_moe", architecture="Qwen3VLMoeForConditionalGeneration")
QWEN3_5 = QwenFamily(
    model_type="qwen3_5",
    architecture="Qwen3_5ForConditionalGeneration",
    recurrent_kinds=frozenset({"linear_attention"}),
    more_projections="(_qkv|_z)?",
)
