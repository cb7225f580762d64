"""Gemma 3: a picture of one size in 256 pooled tokens that see each other, between tokens that the processor writes."""

from dataclasses import dataclass
from math import isqrt

from transformers import PreTrainedConfig, PreTrainedTokenizerFast

from saccade.errors import UserError
from saccade.media.resize import TileRule, ViewRule
from saccade.models.chat import ImageLayout
from saccade.models.families.family import Family, check_tokens
from saccade.models.pixels import ImageProcessor
from saccade.types import ImageRef

_IMAGE_START, _IMAGE_END = "<start_of_image>", "<end_of_image>"


@dataclass(frozen=True, kw_only=True)
class GemmaFamily(Family):
    """Checkpoints of ``Gemma3ForConditionalGeneration``; see ``Family`` for what each method gives."""

    def check(
        self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
    ) -> None:
        check_tokens(tokenizer, _IMAGE_START, _IMAGE_END)
        side = int(config.vision_config.image_size)
        size = dict(image_processor.size)
        if (size.get("height"), size.get("width")) != (side, side):
            raise UserError(f"size={size} in preprocessor_config.json, but the model has pictures of {side} x {side}")
        if getattr(image_processor, "do_pan_and_scan", False):
            raise UserError(
                "preprocessor_config.json says do_pan_and_scan=true, which shows crops beside each picture; set it to "
                "false: a model crops by its tools here"
            )
        if _patches_along_token(config) * isqrt(config.mm_tokens_per_image) != side // config.vision_config.patch_size:
            raise UserError(
                f"mm_tokens_per_image={config.mm_tokens_per_image} in config.json does not divide the patches of a "
                "picture into squares; copy the checkpoint again"
            )

    def missing(self, config: PreTrainedConfig) -> str:
        both = ", attention of texts in both directions" if config.text_config.use_bidirectional_attention else ""
        return (super().missing(config) + both).removeprefix(", ")

    def view_rule(self, image_processor: ImageProcessor, config: PreTrainedConfig) -> TileRule:
        return TileRule(
            tile_px=int(image_processor.size["height"]),
            tokens_per_tile=int(config.mm_tokens_per_image),
            min_tiles=1,
            max_tiles=1,
            convention=self.convention,
        )

    def merge(self, config: PreTrainedConfig) -> int:
        return _patches_along_token(config)

    def image_layout(self, view: ViewRule, image: ImageRef) -> ImageLayout:
        return f"\n\n{_IMAGE_START}", view.token_count(image), f"{_IMAGE_END}\n\n"

    def processor_config(self, config: PreTrainedConfig) -> dict[str, object]:
        return {"image_seq_length": int(config.mm_tokens_per_image), "processor_class": "Gemma3Processor"}


def _patches_along_token(config: PreTrainedConfig) -> int:
    """Patches along a side of the square that is pooled into one token."""
    vision = config.vision_config
    return int(vision.image_size // vision.patch_size // isqrt(config.mm_tokens_per_image))


GEMMA3 = GemmaFamily(
    model_type="gemma3",
    architecture="Gemma3ForConditionalGeneration",
    eos_token="<end_of_turn>",
    written_image=_IMAGE_START,
    attends_both_ways=True,
    is_tied=True,
)
