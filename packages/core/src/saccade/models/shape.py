"""What a checkpoint's ``config.json`` says of its sizes: weights are counted, none is read."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForImageTextToText, PreTrainedModel

from saccade.models.checkpoint import image_settings, is_half, language_part, read_checkpoint_json
from saccade.models.checkpoint_checks import check_directory
from saccade.models.chosen_weights import chosen_names, plain_weights
from saccade.models.families import family_of
from saccade.models.families.family import plain_heads
from saccade.models.lora import LoraSettings
from saccade.models.quiet import quiet_transformers
from saccade.models.recurrent import kept_numbers, recurrent_layers, state_numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerShape:
    """Widths of one layer, of the language model or of the vision tower, in numbers a token or patch."""

    count: int
    hidden: int
    query: int
    key: int
    mlp: int
    """Of all experts that a token goes to, in a mixture."""
    has_norms: bool = False
    """Whether queries and keys are normalised."""
    norms: int = 2
    """Norms of the width of the layer."""
    copies: int = 0
    """Experts that each get the token's hidden state and give one."""
    cached: int = 0
    """Numbers of the keys of one token in all layers together, where layers differ or share them; the widths above are
    means then."""
    extra: int = 0
    """Numbers of a token's own input to a layer, where it has one."""
    recurrent: int = 0
    """Of the layers, those with a recurrent state in the place of keys and values."""
    state: int = 0
    """Numbers of one sequence's state in all of these; fp32."""
    recurrent_kept: int = 0
    """Numbers that one of these keeps of a token for its backward; fp32."""


_BEHIND_TOWER = re.compile("projector|merger")
"""In the names of what the tower's layers are followed by: a gradient for it goes through none of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenShape:
    """Weights that are trained whole."""

    weights: int
    has_vision: bool
    """Whether some are between the pixels and the language model."""
    has_tower: bool
    """Whether some are in the vision tower itself, and not behind it."""
    has_head: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelShape:
    """Sizes of a model that is on no device."""

    model_type: str
    is_half: bool
    """Whether its files are in half precision."""
    weights: int
    vision_weights: int
    idle_weights: int
    """Of a mixture of experts: those in the experts that a token does not go to."""
    inner_matrices: int
    """Weights of matrices inside the layers, which Muon steps."""
    largest: int
    """Of the largest single weight."""
    vocabulary: int
    head: int
    """Weights of the language model's head, which may be the embedding's too."""
    is_tied: bool
    language: LayerShape
    vision: LayerShape
    patch_px: int
    """Pixels along a patch's side; an image token is ``merge`` patches squared."""
    merge: int
    max_pixels: int | None
    """What the image processor's file allows; None where it says nothing."""
    linear: tuple[tuple[str, int, int], ...]
    """Path, inputs and outputs of each linear layer."""
    skeleton: PreTrainedModel = field(compare=False, repr=False)
    """The model without a number in it."""

    def chosen(self, pattern: str) -> "ChosenShape":
        """What a regular expression chooses of the weights. Raises as ``chosen_names``."""
        own, names = plain_weights(self.skeleton), chosen_names(pattern, self.skeleton)
        seeing = {id(weight) for weight in family_of(self.model_type).vision_weights(self.skeleton)}
        vision = [name for name in names if id(own[name]) in seeing]
        return ChosenShape(
            weights=sum(own[name].numel() for name in names),
            has_vision=bool(vision),
            has_tower=any(_BEHIND_TOWER.search(name) is None for name in vision),
            has_head=any(own[name] is self.skeleton.lm_head.weight for name in names),
        )

    def adapter_weights(self, lora: LoraSettings) -> int:
        """Weights of an adapter with these settings."""
        targets = lora.inside(family_of(self.model_type)).targets
        found = [size for name, *size in self.linear if re.fullmatch(targets, name)]
        return sum(lora.rank * (inputs + outputs) for inputs, outputs in found)

    @property
    def language_weights(self) -> int:
        """Weights of the language model's linear layers, without its head."""
        return sum(inputs * outputs for _, inputs, outputs in self._language_layers)

    def adapted_weights(self, lora: LoraSettings) -> int:
        """Those of them that such an adapter is beside."""
        targets = lora.inside(family_of(self.model_type)).targets
        return sum(inputs * outputs for name, inputs, outputs in self._language_layers if re.fullmatch(targets, name))

    @property
    def _language_layers(self) -> list[tuple[str, int, int]]:
        language = family_of(self.model_type).language
        return [one for one in self.linear if one[0].startswith(f"{language}.")]

    @property
    def cache_numbers(self) -> int:
        """Keys and values of one token in all layers."""
        return 2 * (self.language.cached or (self.language.count - self.language.recurrent) * self.language.key)


def read_shape(path: Path) -> ModelShape:
    """The sizes of a checkpoint directory, which needs ``config.json`` and no weights; raises UserError."""
    check_directory(path)
    raw = read_checkpoint_json(path / "config.json")
    with quiet_transformers(), torch.device("meta"):
        config = AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        # InternVL3 was published without it, and transformers 5 takes that for true.
        of_text = language_part(raw).get("tie_word_embeddings", family_of(config.model_type).is_tied)
        config.tie_word_embeddings = bool(raw.get("tie_word_embeddings", of_text))
        model = AutoModelForImageTextToText.from_config(config, trust_remote_code=False)
    family = family_of(config.model_type)
    tower = family.vision_weights(model)
    weights = list(model.parameters())
    tables = {id(part.weight) for part in model.modules() if isinstance(part, nn.Embedding)} | {
        id(model.lm_head.weight)
    }
    vision, text = config.vision_config, config.text_config
    cut = _first(vision.patch_size)
    return ModelShape(
        model_type=config.model_type,
        is_half=is_half(raw),
        weights=sum(weight.numel() for weight in weights),
        vision_weights=sum(weight.numel() for weight in tower),
        idle_weights=_idle(model, text),
        inner_matrices=sum(weight.numel() for weight in weights if weight.ndim == 2 and id(weight) not in tables),
        largest=max(weight.numel() for weight in weights),
        vocabulary=int(text.vocab_size),
        head=model.lm_head.weight.numel(),
        is_tied=bool(config.tie_word_embeddings),
        language=_language(text, family.key_heads(model)),
        vision=_tower(vision),
        patch_px=cut,
        merge=family.merge(config),
        max_pixels=family.planned_pixels(image_settings(path)[1]),
        linear=tuple(
            (name, part.in_features, part.out_features)
            for name, part in model.named_modules()
            if isinstance(part, nn.Linear)
        ),
        skeleton=model,
    )


def _language(text: Any, heads: tuple[tuple[int, int], ...] | None) -> LayerShape:
    of_keys = heads or (plain_heads(text),)
    keys = [count * dim for count, dim in of_keys]
    layers, shared = int(text.num_hidden_layers), int(getattr(text, "num_kv_shared_layers", None) or 0)
    own_input = int(getattr(text, "hidden_size_per_layer_input", None) or 0)
    chosen = _chosen_experts(text)
    # A mixture may have some layers without experts.
    has_dense = not chosen or getattr(text, "mlp_only_layers", None) or getattr(text, "decoder_sparse_step", 1) > 1
    dense = int(text.intermediate_size) if has_dense else 0
    routed = chosen * int(getattr(text, "moe_intermediate_size", None) or 0)
    if getattr(text, "use_double_wide_mlp", False):
        # In the layers that look at the keys of others.
        dense += dense * shared // layers
    is_gemma = str(text.model_type).startswith("gemma")
    return LayerShape(
        count=layers,
        hidden=int(text.hidden_size),
        query=int(text.num_attention_heads) * sum(dim for _, dim in of_keys) // len(of_keys),
        key=sum(keys) // len(keys),
        # Gemma 4's experts stand beside the MLP.
        mlp=dense + routed if getattr(text, "enable_moe_block", False) else max(dense, routed),
        has_norms=is_gemma or "qwen3" in str(text.model_type),
        # Gemma normalises what attention and MLP give, too.
        norms=(4 if is_gemma else 2) + bool(own_input) + 3 * bool(getattr(text, "enable_moe_block", False)),
        copies=chosen,
        cached=sum(keys) if heads else 0,
        extra=own_input,
        recurrent=len(recurrent_layers(text)),
        state=state_numbers(text),
        recurrent_kept=kept_numbers(text),
    )


def _chosen_experts(text: Any) -> int:
    """Experts that a token goes to; 0 without a mixture."""
    return int(getattr(text, "num_experts_per_tok", None) or getattr(text, "top_k_experts", None) or 0)


def _idle(model: PreTrainedModel, text: Any) -> int:
    experts = [weight for name, weight in model.named_parameters() if weight.ndim == 3 and ".experts." in name]
    return sum(weight.numel() - weight.numel() * _chosen_experts(text) // len(weight) for weight in experts)


def _tower(vision: Any) -> LayerShape:
    # Some towers call their own width by another name, where hidden_size is what they give.
    hidden = int(getattr(vision, "embed_dim", None) or vision.hidden_size)
    depth = int(getattr(vision, "depth", None) or vision.num_hidden_layers)
    mlp = int(getattr(vision, "intermediate_size", None) or hidden * vision.mlp_ratio)
    return LayerShape(count=depth, hidden=hidden, query=hidden, key=hidden, mlp=mlp)


def _first(size: Any) -> int:
    return int(size[0] if isinstance(size, list | tuple) else size)
