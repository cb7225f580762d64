"""The adapter of a model family: all that differs between families, each part with what most of them have."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from saccade.errors import UserError
from saccade.geometry import CoordinateConvention
from saccade.media.resize import TokenGrid, ViewRule
from saccade.models.chat import ImageLayout
from saccade.models.masks import SLIDING, MaskRule
from saccade.models.memory import sent
from saccade.models.pixels import ImageProcessor, Patches
from saccade.types import ImageRef

_KNOWN_LAYERS = {"full_attention", "attention", SLIDING}
_UNKNOWN = {
    "final_logit_softcapping": "capped logits",
    "attn_logit_softcapping": "capped scores of attention",
    "logits_scaling": "scaled logits",
    "logit_scale": "scaled logits",
    "num_kv_shared_layers": "layers that share keys and values",
    "hidden_size_per_layer_input": "inputs of each layer",
}
"""What language models may have beside plain layers and a plain head, by the setting that says so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageFeatures:
    """Features of one image from the vision tower."""

    tokens: Float[Tensor, "image_tokens hidden"]
    deepstack: tuple[Float[Tensor, "image_tokens hidden"], ...] = ()
    """Features added after the first language layers; empty where a family has none."""


def plain_heads(text: Any) -> tuple[int, int]:
    """Heads of the keys of a language model whose layers are alike, and the numbers of a head."""
    width = int(getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads)
    return int(text.num_key_value_heads), width


@dataclass(frozen=True, kw_only=True)
class Family(ABC):
    """Checkpoints that transformers loads with one class. It holds no state.

    A family says what differs from the defaults: plain positions, a causal language model, one call of the vision
    tower over square tiles whose tokens follow each other, nothing written around an image.
    """

    model_type: str
    """As in ``config.json``."""
    architecture: str
    """The class in transformers, as ``config.json`` names it."""
    convention: CoordinateConvention = "relative_1000"
    """How the family writes boxes and points."""
    eos_token: str = "<|im_end|>"
    """Ends a turn; "" where it is the end that the checkpoint's tokenizer names."""
    other_ends: tuple[str, ...] = ()
    """Tokens that end one as well."""
    spoken_tokens: tuple[str, ...] = ()
    """Special tokens that the model itself may write besides the end of a turn; others are the environment's."""
    weightless_tokens: tuple[str, ...] = ()
    """Special tokens of the published tokenizer that the model has no weights for."""
    is_flat: bool = False
    """Whether transformers takes the language model's sizes beside ``vision_config``, as they were published."""
    is_tied: bool = False
    """Whether the head is the embedding where the configuration does not say."""
    language: str = "model.language_model"
    """Path of the language model, without its head, in transformers' class."""
    recurrent_kinds: frozenset[str] = frozenset()
    """Of its layers, as ``layer_types`` names them: those that ``models/recurrent.py`` runs."""
    more_projections: str = ""
    """Ends of names behind ``_proj``, as a regular expression: of linear layers that get the default LoRA too."""
    attends_both_ways: bool = False
    """Whether the tokens of an image, which stand between tokens of other kinds, see those after them in it."""
    written_image: str = ""
    """What the chat template writes for an image; "" where it is the placeholder."""

    @abstractmethod
    def view_rule(self, image_processor: ImageProcessor, config: PreTrainedConfig) -> ViewRule:
        """How images are resized and how many tokens they take, as the checkpoint's own processor does it."""

    def check(  # noqa: B027 (most families need none)
        self, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerFast, image_processor: ImageProcessor
    ) -> None:
        """UserError when tokenizer or image processor do not fit the model."""

    def missing(self, config: PreTrainedConfig) -> str:
        """What of this model Saccade cannot run yet; "" where it can."""
        text = config.text_config
        kinds = set(getattr(text, "layer_types", None) or ()) - _KNOWN_LAYERS - self.recurrent_kinds
        settings = {name: what for name, what in _UNKNOWN.items() if not self.runs(name)}
        kinds |= {what for name, what in settings.items() if getattr(text, name, None) not in (None, 0, 1)}
        window, longest = (getattr(text, name, None) or inf for name in ("sliding_window", "max_position_embeddings"))
        if not getattr(text, "layer_types", None) and window < longest:
            # Mistral's, whose model takes one mask for all layers.
            kinds.add("sliding windows without layer_types")
        return ", ".join(sorted(kinds))

    def runs(self, setting: str) -> bool:
        """Whether the family says below what a language model with this setting of ``_UNKNOWN`` has of its own."""
        return False

    def logit_cap(self, text: Any) -> float | None:
        """c where logits z are c tanh(z / c)."""
        return None

    def mask_rule(self, text: Any) -> MaskRule | None:
        """How its layers look, by the configuration of the language model; None where each token sees all before it."""
        return MaskRule.of(text, both_ways=self.attends_both_ways)

    def key_heads(self, hf: PreTrainedModel) -> tuple[tuple[int, int], ...] | None:
        """Heads of the keys of each layer that has its own, and the numbers of a head; None where all are alike."""
        return None

    def layer_inputs(
        self, hf: PreTrainedModel, ids: Int[Tensor, "rows tokens"], is_image: Bool[Tensor, "rows tokens"]
    ) -> Float[Tensor, "rows tokens layers width"] | None:
        """What each layer is given of the tokens themselves; None where a model has no such inputs."""
        return None

    def bound_views(self, image_processor: ImageProcessor, *, min_pixels: int | None, max_pixels: int | None) -> None:
        """Sets the image processor so that views have an area within these bounds; None leaves a bound as it is."""
        if min_pixels or max_pixels:
            raise UserError(
                f"views of {self.model_type} have one size; leave out model.min_pixels and model.max_pixels, or set "
                "model.max_pixels=checkpoint where a recipe has its paper's"
            )

    def take_views(self, config: PreTrainedConfig, image_processor: ImageProcessor) -> None:  # noqa: B027
        """Sets what the model itself says of views as ``bound_views`` has left them."""

    def max_pixels(self, image_processor: ImageProcessor) -> int | None:
        """Largest area of a view by the image processor; None where views are made of tiles of one size."""
        return None

    def planned_pixels(self, settings: Mapping[str, Any]) -> int | None:
        """Area that a picture is planned with, by the settings in the image processor's file; None without them."""
        size = settings.get("size") or {}
        if largest := settings.get("max_pixels") or size.get("longest_edge") or size.get("max_pixels"):
            return int(largest)
        return prod((int(size["height"]), int(size["width"]))) if "height" in size else None

    def merge(self, config: PreTrainedConfig) -> int:
        """Patches along a side of an image token."""
        of_tower = getattr(config.vision_config, "spatial_merge_size", 0)
        return int(of_tower or round(1 / float(getattr(config, "downsample_ratio", 0.5))))

    def end_of_turn(self, tokenizer: PreTrainedTokenizerFast) -> str:
        """The token that ends a turn of this checkpoint; "" where its tokenizer should name one and does not."""
        return self.eos_token or str(tokenizer.eos_token or "")

    def image_layout(self, view: ViewRule, image: ImageRef) -> ImageLayout:
        """What the family's processor writes for an image: texts, and counts of placeholders in a row."""
        return (view.token_count(image),)

    def processor_config(self, config: PreTrainedConfig) -> Mapping[str, object]:
        """Content of ``processor_config.json``, so that transformers counts alike; empty for no such file."""
        return {}

    def prepare(self, image_processor: ImageProcessor, picture: Image.Image) -> Patches:
        """Pixels of one RGB picture as the vision tower takes them."""
        made = image_processor(images=[picture], return_tensors="pt")
        tiles = made["pixel_values"].to(torch.float32)
        return Patches(values=tiles, rows=len(tiles), columns=1)

    def prepare_frames(self, image_processor: ImageProcessor, frames: Sequence[Image.Image]) -> Patches:
        """Pixels of RGB frames of a video, resized already, that the tower joins in patches."""
        raise UserError(f"{self.model_type} has no tokens of its own for a video; leave out rollout.native_video")

    def encode(self, hf: PreTrainedModel, patches: Sequence[Patches]) -> list[ImageFeatures]:
        """Features of each image, in one forward of the vision tower on the model's device."""
        pixels = sent(torch.cat([patch.values for patch in patches]).to(hf.dtype), hf.device)
        return by_image(hf.model.get_image_features(pixel_values=pixels, return_dict=True).pooler_output, patches)

    def positions(
        self, ids: Sequence[int], grids: Sequence[TokenGrid], *, image_token_id: int, start: int
    ) -> tuple[NDArray[np.int64], int]:
        """Positions (3, tokens) of a chunk of text and whole images, and the position of the token after it.

        ``grids`` are those of the images' tokens. ValueError when they do not match the ids.
        """
        check_count(ids, [rows * columns for rows, columns in grids], image_token_id=image_token_id)
        positions = np.broadcast_to(start + np.arange(len(ids), dtype=np.int64), (3, len(ids)))
        return positions.copy(), start + len(ids)

    def language_positions(self, positions: Int[Tensor, "3 rows tokens"]) -> Int[Tensor, "*axes rows tokens"]:
        """The ``position_ids`` of the language model."""
        return positions[0]

    def language_model(self, hf: PreTrainedModel) -> Any:
        """The language model without its head, of a class of transformers."""
        try:
            return hf.get_submodule(self.language)
        except AttributeError:
            raise UserError(
                f"the family {self.model_type} says that its language model is {self.language}, which "
                f"{type(hf).__name__} has not; mend language of the family"
            ) from None

    def vision_modules(self, hf: PreTrainedModel) -> tuple[nn.Module, ...]:
        """The modules that turn pixels into image tokens: what stands beside the language model."""
        outer, _, name = self.language.rpartition(".")
        return tuple(module for own, module in hf.get_submodule(outer).named_children() if own != name)

    def unused_modules(self, hf: PreTrainedModel) -> tuple[nn.Module, ...]:
        """Modules that nothing is shown to: they are saved as they were."""
        return ()

    def vision_weights(self, hf: PreTrainedModel) -> list[nn.Parameter]:
        """Their weights, and those that stand beside the language model in no module."""
        beside = hf.get_submodule(self.language.rpartition(".")[0]).parameters(recurse=False)
        return [*(weight for module in self.vision_modules(hf) for weight in module.parameters()), *beside]


def by_image(found: Tensor | Sequence[Tensor], patches: Sequence[Patches]) -> list[ImageFeatures]:
    """Features of each image, from those of all tiles in order, where each tile has as many."""
    counts = [len(patch.values) for patch in patches]
    parts = [found] if isinstance(found, Tensor) else found
    tokens = torch.cat([part.flatten(0, -2) for part in parts])
    tiles = tokens.view(sum(counts), -1, tokens.shape[-1])
    return [ImageFeatures(tokens=one.flatten(0, 1)) for one in torch.split(tiles, counts)]


def check_count(ids: Sequence[int], counts: Sequence[int], *, image_token_id: int) -> None:
    """ValueError unless ``ids`` have as many placeholders as ``counts`` together."""
    is_image = np.asarray(ids, dtype=np.int64) == image_token_id
    found, expected = int(np.count_nonzero(is_image)), sum(counts)
    if found < expected:
        raise ValueError(f"{len(counts)} images for fewer runs of image tokens: {found}, where they take {expected}")
    if found > expected:
        raise ValueError(f"image tokens at {int(np.flatnonzero(is_image)[expected])} belong to no image")


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


def check_tokens(tokenizer: PreTrainedTokenizerFast, *tokens: str) -> None:
    """UserError unless the tokenizer has all of these, which stand beside images."""
    vocabulary = tokenizer.get_vocab()
    for token in (token for token in tokens if token not in vocabulary):
        raise UserError(f"the tokenizer has no {token}, which stands beside every image; use the model's own")
