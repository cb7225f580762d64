"""GLM-4.1V, 4.5V and 4.6V: views as of Qwen-VL, bounded by the pixels of both frames; no token is for ends alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor
from typing import Any

from transformers import PreTrainedConfig, PreTrainedTokenizerFast

from saccade.media.resize import ResizeRule, smart_resize
from saccade.media.video_rule import VideoRule
from saccade.models.families.family import check_tokens
from saccade.models.families.qwen import QwenFamily
from saccade.models.pixels import ImageProcessor

_AROUND = ("<|begin_of_video|>", "<|end_of_video|>")
_BOUNDS = (112 * 112, 47_040_000)


@dataclass(frozen=True, kw_only=True, slots=True)
class GlmResizeRule(ResizeRule):
    """Qwen's rule after a picture that is thinner than an image token was enlarged to one."""

    def view_size(self, width: int, height: int) -> tuple[int, int]:
        if min(width, height) < self.factor:
            # Whole pixels are taken before the size is chosen, as in the image processor.
            scale = max(self.factor / height, self.factor / width)
            width, height = floor(width * scale), floor(height * scale)
        return smart_resize(width, height, factor=self.factor, min_pixels=self.min_pixels, max_pixels=self.max_pixels)


@dataclass(frozen=True, kw_only=True)
class GlmFamily(QwenFamily):
    """A generation of GLM-V; see ``Family`` for what each method gives."""

    # The template ends no turn: the model says the head of what should follow.
    eos_token: str = "<|user|>"
    other_ends: tuple[str, ...] = ("<|observation|>", "<|endoftext|>")
    spoken_tokens: tuple[str, ...] = ("<|begin_of_box|>", "<|end_of_box|>")
    video: VideoRule = VideoRule(after="{whole}", around=_AROUND, bounds=_BOUNDS)

    def check(
        self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
    ) -> None:
        check_tokens(tokenizer, "<|begin_of_image|>", "<|end_of_image|>")
        super().check(config, tokenizer, image_processor)

    def view_rule(self, image_processor: ImageProcessor, config: PreTrainedConfig) -> GlmResizeRule:
        return GlmResizeRule(
            factor=int(image_processor.patch_size) * int(image_processor.merge_size),
            min_pixels=-(-int(image_processor.size["shortest_edge"]) // _frames(image_processor)),
            max_pixels=self.max_pixels(image_processor),
            convention=self.convention,
            video=self.video_rule(config),
        )

    def bound_views(self, image_processor: ImageProcessor, *, min_pixels: int | None, max_pixels: int | None) -> None:
        frames = _frames(image_processor)
        super().bound_views(
            image_processor,
            min_pixels=min_pixels and min_pixels * frames,
            max_pixels=max_pixels and max_pixels * frames,
        )

    def max_pixels(self, image_processor: ImageProcessor) -> int:
        return int(image_processor.size["longest_edge"]) // _frames(image_processor)

    def planned_pixels(self, settings: Mapping[str, Any]) -> int | None:
        largest = super().planned_pixels(settings)
        return largest and largest // int(settings.get("temporal_patch_size") or 2)


def _frames(image_processor: ImageProcessor) -> int:
    """Times that the image processor counts a still picture's pixels against its bounds."""
    return int(image_processor.temporal_patch_size)


GLM4V = GlmFamily(model_type="glm4v", architecture="Glm4vForConditionalGeneration")
GLM4V_MOE = GlmFamily(model_type="glm4v_moe", architecture="Glm4vMoeForConditionalGeneration")
GLM46V = GlmFamily(
    model_type="glm46v",
    architecture="Glm46VForConditionalGeneration",
    video=VideoRule(after="{first:.1f} seconds", around=_AROUND, bounds=_BOUNDS),
)
