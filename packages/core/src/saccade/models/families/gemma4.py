"""Gemma 4: pictures of a fixed number of tokens in any shape, layers of two sizes, some on the keys of earlier ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from PIL import Image
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from saccade.errors import UserError
from saccade.media.resize import FilledRule, ViewRule
from saccade.models.chat import ImageLayout
from saccade.models.families.family import Family, ImageFeatures, check_tokens
from saccade.models.masks import MaskRule
from saccade.models.memory import sent
from saccade.models.pixels import ImageProcessor, Patches
from saccade.types import ImageRef

_IMAGE_START, _IMAGE_END = "<|image>", "<image|>"
_TOKENS = (70, 140, 280, 560, 1120)
"""Of a picture at most; the image processor takes no other number."""
_KNOWN = {"final_logit_softcapping", "num_kv_shared_layers", "hidden_size_per_layer_input"}


@dataclass(frozen=True, kw_only=True)
class Gemma4Family(Family):
    """Checkpoints of ``Gemma4ForConditionalGeneration``; see ``Family`` for what each method gives.

    A tower for sounds is kept and saved as it is, and nothing is shown to it.
    """

    def check(
        self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
    ) -> None:
        check_tokens(tokenizer, _IMAGE_START, _IMAGE_END)
        if config.vision_config is None:
            raise UserError("config.json has no vision_config; use a checkpoint that sees pictures")
        for name in ("patch_size", "pooling_kernel_size"):
            ours, theirs = getattr(image_processor, name, None), getattr(config.vision_config, name)
            if ours != theirs:
                raise UserError(f"the image processor's file says {name}={ours}, but the model has {theirs}")

    def missing(self, config: PreTrainedConfig) -> str:
        both = "attention of texts in both directions"
        found = [both] if config.text_config.use_bidirectional_attention == "all" else []
        return ", ".join([*found, *filter(None, [super().missing(config)])])

    def runs(self, setting: str) -> bool:
        return setting in _KNOWN

    def logit_cap(self, text: Any) -> float | None:
        return text.final_logit_softcapping  # type: ignore[no-any-return]

    def mask_rule(self, text: Any) -> MaskRule | None:
        # The small models see pictures one way, and layers without a window all do.
        return MaskRule.of(text, both_ways=text.use_bidirectional_attention == "vision", in_windows_alone=True)

    def key_heads(self, hf: PreTrainedModel) -> tuple[tuple[int, int], ...]:
        # By the modules: the settings that say so have had several names.
        layers = [layer.self_attn for layer in self.language_model(hf).layers]
        own = [one for one in layers if hasattr(one, "k_proj")]
        return tuple((int(one.k_proj.out_features) // int(one.head_dim), int(one.head_dim)) for one in own)

    def unused_modules(self, hf: PreTrainedModel) -> tuple[nn.Module, ...]:
        found = (hf.model.audio_tower, hf.model.embed_audio)
        return tuple(one for one in found if one is not None)

    def layer_inputs(
        self, hf: PreTrainedModel, ids: Int[Tensor, "rows tokens"], is_image: Tensor
    ) -> Float[Tensor, "rows tokens layers width"] | None:
        language = self.language_model(hf)
        if not language.hidden_size_per_layer_input:
            return None
        padding = int(hf.config.text_config.pad_token_id)
        found: Tensor = language.get_per_layer_inputs(ids.masked_fill(is_image, padding), None)
        return found

    def view_rule(self, image_processor: ImageProcessor, config: PreTrainedConfig) -> FilledRule:
        factor = int(image_processor.patch_size) * _pooled(image_processor)
        area, longest = _tokens(image_processor) * factor**2, _tokens(image_processor) * _pooled(image_processor)
        if longest > (places := int(config.vision_config.position_embedding_size)):
            raise UserError(f"a view may be {longest} patches long, and the model has places for {places}; bound views")
        return FilledRule(factor=factor, min_pixels=area, max_pixels=area, convention=self.convention)

    def bound_views(self, image_processor: ImageProcessor, *, min_pixels: int | None, max_pixels: int | None) -> None:
        area, count = (int(image_processor.patch_size) * _pooled(image_processor)) ** 2, _tokens(image_processor)
        if max_pixels:
            count = max([_TOKENS[0], *(one for one in _TOKENS if one <= min(count, max_pixels // area))])
        if min_pixels:
            count = min([_TOKENS[-1], *(one for one in _TOKENS if one >= max(count, min_pixels / area))])
        image_processor.max_soft_tokens = count  # type: ignore[attr-defined]

    def max_pixels(self, image_processor: ImageProcessor) -> int:
        return _tokens(image_processor) * (int(image_processor.patch_size) * _pooled(image_processor)) ** 2

    def planned_pixels(self, settings: Mapping[str, Any]) -> int:
        side = int(settings.get("patch_size") or 16) * int(settings.get("pooling_kernel_size") or 3)
        return int(settings.get("max_soft_tokens") or 280) * side**2

    def merge(self, config: PreTrainedConfig) -> int:
        return int(config.vision_config.pooling_kernel_size)

    def image_layout(self, view: ViewRule, image: ImageRef) -> ImageLayout:
        return _IMAGE_START, view.token_count(image), _IMAGE_END

    def processor_config(self, config: PreTrainedConfig) -> dict[str, object]:
        return {"processor_class": "Gemma4Processor"}

    def prepare(self, image_processor: ImageProcessor, picture: Image.Image) -> Patches:
        made = image_processor(images=[picture], return_tensors="pt")
        columns, rows = (int(last) + 1 for last in made["image_position_ids"][0].amax(dim=0))
        # Without the padding to the most patches of any picture.
        return Patches(values=made["pixel_values"][0, : rows * columns].float(), rows=rows, columns=columns)

    def encode(self, hf: PreTrainedModel, patches: Sequence[Patches]) -> list[ImageFeatures]:
        longest = max(len(patch.values) for patch in patches)
        pixels = torch.zeros(len(patches), longest, patches[0].values.shape[1])
        places = torch.full((len(patches), longest, 2), -1)
        for row, patch in enumerate(patches):
            own = torch.cartesian_prod(torch.arange(patch.rows), torch.arange(patch.columns))
            pixels[row, : len(patch.values)], places[row, : len(own)] = patch.values, own.flip(1)
        found = hf.model.get_image_features(sent(pixels, hf.device), sent(places, hf.device), return_dict=True)
        return [ImageFeatures(tokens=tokens) for tokens in found.pooler_output]


def _pooled(image_processor: ImageProcessor) -> int:
    return int(image_processor.pooling_kernel_size)  # type: ignore[attr-defined]


def _tokens(image_processor: ImageProcessor) -> int:
    return int(image_processor.max_soft_tokens)  # type: ignore[attr-defined]


GEMMA4 = Gemma4Family(
    model_type="gemma4",
    architecture="Gemma4ForConditionalGeneration",
    eos_token="<turn|>",
    # A call ends with the head of its result.
    other_ends=("<eos>", "<|tool_response>"),
    spoken_tokens=("<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", '<|"|>'),
    is_tied=True,
)
