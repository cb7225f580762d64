"""One loaded vision-language model, as engine and learner share it: the same weights, masks, pixels, positions."""

import json
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import Cache, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
from transformers.utils import logging

from saccade.checksums import CHECKSUMS
from saccade.errors import SaccadeError, UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.models.attention import Layout, PackMasks, Watch, enable_packs
from saccade.models.chat import TOOL_RESPONSE, Chat, ObservationRole
from saccade.models.chat_templates import TemplateTokenizer
from saccade.models.checkpoint import TINY_BELOW_WEIGHTS
from saccade.models.families import family_of
from saccade.models.families.family import Family, ImageFeatures
from saccade.models.lora import Adapter, adapted_weights, base_state, each_once, merged_state, save_adapter
from saccade.models.low_rank import AdaptedWeights
from saccade.models.masks import AttentionMask
from saccade.models.pixels import ImageProcessor, PatchCache, add_at_places, project_by_product
from saccade.models.recurrent import carry_states, recurrent_layers
from saccade.models.routing import ROUTING, Routing, enable_routing
from saccade.models.shared_prefix import SharedPrefix
from saccade.models.unused_tokens import unused_tokens
from saccade.types import ImageRef

_ALONE = threading.RLock()


@dataclass(frozen=True, kw_only=True, slots=True)
class Embedded:
    """Input embeddings of a chunk with image features in their places."""

    inputs: Float[Tensor, "rows tokens hidden"]
    is_image: Bool[Tensor, "rows tokens"]
    deepstack: tuple[Float[Tensor, "image_tokens hidden"], ...]
    """Features of the image tokens in the chunk, in row-major order, for the first layers."""
    layer_inputs: Float[Tensor, "rows tokens layers width"] | None = None
    """What each layer is given of the tokens themselves, where a family has that."""
    image_places: Int[Tensor, "image_tokens"] | None = None
    """Where ``is_image`` is true, in row-major order, if that is known."""


def plain_heads(text: Any) -> tuple[int, int]:
    """Heads of the keys of a language model whose layers are alike, and the numbers of a head."""
    width = int(getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads)
    return int(text.num_key_value_heads), width


def unspoken_tokens(tokenizer: PreTrainedTokenizerFast, family: Family) -> dict[str, int]:
    """Tokens of the tokenizer, with their ids, that only the environment may write: scaffolding, placeholders, and
    entries that stand for nothing."""
    vocabulary = tokenizer.get_vocab()
    special = {int(i) for i in tokenizer.all_special_ids} | {
        int(i) for i, token in tokenizer.added_tokens_decoder.items() if token.special
    }
    said = (family.end_of_turn(tokenizer), *family.other_ends, *family.spoken_tokens)
    spoken = {vocabulary[token] for token in said if token in vocabulary}
    of_tools = {vocabulary[token] for token in TOOL_RESPONSE if token in vocabulary}
    unused = set(unused_tokens(tokenizer, vocabulary).values()) - spoken
    return {str(tokenizer.convert_ids_to_tokens(one)): one for one in (special - spoken) | of_tools | unused}


def chat_of(
    config: PreTrainedConfig,
    tokenizer: PreTrainedTokenizerFast,
    view: ViewRule,
    observation_role: ObservationRole | None = None,
    spelled: Collection[int] = (),
) -> Chat:
    """How a model of this configuration writes conversations; UserError for a chat template that cannot be used.

    Tokens of ``spelled`` are written in pieces, as are those that have no weights.
    """
    family, image_token_id = family_of(config.model_type), int(config.image_token_id)
    end = family.end_of_turn(tokenizer)
    vocabulary = tokenizer.get_vocab()
    image_token = tokenizer.convert_ids_to_tokens(image_token_id)
    return Chat.checked(
        tokenizer=TemplateTokenizer(
            tokenizer,
            vocabulary=int(config.text_config.vocab_size),
            written_image=family.written_image,
            image_token=image_token,
            spelled=spelled,
        ),
        image_token=image_token,
        image_token_id=image_token_id,
        eos_token=end,
        eos_id=int(tokenizer.convert_tokens_to_ids(end)),
        image_layout=partial(family.image_layout, view),
        observation_role=observation_role,
        unspoken=frozenset(unspoken_tokens(tokenizer, family)),
        other_ends={token: vocabulary[token] for token in family.other_ends if token in vocabulary},
    )


class VisionLanguageModel:
    """A transformers model of a known family with its tokenizer, chat rendering and image view."""

    def __init__(
        self,
        hf: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        image_processor: ImageProcessor,
        media: MediaStore,
        *,
        observation_role: ObservationRole | None = None,
        device: str | None = None,
        spelled: Collection[int] = (),
    ) -> None:
        """``device`` is where the weights will be, if not where they are; ``spelled`` as ``chat_of`` has it."""
        home = hf.device if device is None else torch.device(device)
        config = hf.config
        self.family: Family = family_of(config.model_type)
        enable_packs(self.family.language_model(hf))
        carry_states(self.family.language_model(hf))
        add_at_places(self.family.language_model(hf))
        self.experts = enable_routing(self.family.language_model(hf))
        """Of a mixture of experts whose routers are known; None of any other model."""
        project_by_product(hf)
        if home.type == "cuda":
            from saccade.models.gpu import prepare_gpu

            prepare_gpu(hf)
        self.hf = hf
        self.media = media
        self.tokenizer = tokenizer
        self.image_processor = image_processor
        self.view: ViewRule = self.family.view_rule(image_processor, config)
        self.image_token_id = int(config.image_token_id)
        self.spelled = tuple(sorted(spelled))
        """Tokens that are written in pieces, although the model has them: it was never trained on them."""
        self.chat = chat_of(config, tokenizer, self.view, observation_role, self.spelled)
        self.eos_token = self.chat.eos_token
        self.eos_id = self.chat.eos_id
        self.end_ids = self.chat.end_ids
        text = config.text_config
        self.mask_rule = self.family.mask_rule(text)
        """None where each token sees all before it."""
        self.layer_count = int(text.num_hidden_layers)
        self.recurrent_layers = recurrent_layers(text)
        self.attention_layers = tuple(sorted({*range(self.layer_count)} - {*self.recurrent_layers}))
        """Those that attend to keys and values."""
        self.hidden_size = int(text.hidden_size)
        self.key_heads = self.family.key_heads(hf) or (plain_heads(text),) * len(self.attention_layers)
        """Of each layer whose keys and values are kept: heads, and the numbers of a head."""
        self.logit_cap = self.family.logit_cap(text)
        """None where logits are what the head gives."""
        self.vocab_size = int(text.vocab_size)
        self.longest_sequence = int(getattr(text, "max_position_embeddings", 0) or 0)
        """Tokens that its positions are made for; 0 where its configuration does not say."""
        taken = signature(self.family.language_model(hf).forward).parameters
        # Since transformers 5.24; before it the name was another.
        self._cache_name = "cache" if "cache" in taken else "past_key_values"
        self.forbidden_ids = self._find_forbidden_ids(home)
        prepare, prepare_frames = self.family.prepare, self.family.prepare_frames
        self.patches = PatchCache(partial(prepare, image_processor), partial(prepare_frames, image_processor), media)
        self.wanted_dtype: torch.dtype | None = None
        """Precision that the weights were asked for in, where they are still in that of their file."""
        self.source: Path | None = None
        """Directory that holds these very weights; None once they may have changed."""
        self.checkpoint: Path | None = None
        """Directory that it was loaded from; None for a model made from nothing."""
        self.adapter: Adapter | None = None
        """Where there is one, only its weights are trained."""
        self.batch_invariant = False
        """Whether engine and learner give a token the same bits (``models.batch_invariant``)."""
        self.pack_attention: Literal["auto", "varlen", "plain"] = "auto"
        """Whether packs are attended to in one call, as ``OptimizerSettings`` has it."""

    @property
    def is_tiny(self) -> bool:
        """Whether it has fewer than ``TINY_BELOW_WEIGHTS`` weights."""
        count: int = sum(weight.numel() for weight in self.hf.parameters())
        return count < TINY_BELOW_WEIGHTS

    @property
    def language_model(self) -> Any:
        """The language model without its head, of a class of transformers."""
        return self.family.language_model(self.hf)

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.hf.parameters()).device
        return device

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = next(self.hf.parameters()).dtype
        return dtype

    def take_precision(self) -> None:
        """Gives the weights the precision that they were asked for in."""
        for weight in self.hf.parameters() if self.wanted_dtype is not None else ():
            weight.data = weight.data.to(self.wanted_dtype)
        self.wanted_dtype = None

    def _find_forbidden_ids(self, device: torch.device) -> Int[Tensor, "forbidden"]:
        """Tokens that only the environment may write: scaffolding and placeholders, ids beyond the tokenizer, and what
        is spelled."""
        written_by_environment = unspoken_tokens(self.tokenizer, self.family)
        beyond = range(len(self.tokenizer), self.vocab_size)
        others = (*written_by_environment.values(), *beyond, *self.spelled)
        ids = sorted({token for token in others if token < self.vocab_size})
        return torch.tensor(ids, dtype=torch.long, device=device)

    def encode_images(self, images: Sequence[ImageRef]) -> list[ImageFeatures]:
        """Features of each image, in one forward of the vision tower; differentiable unless the caller forbids it."""
        if not images:
            return []
        return self.family.encode(self.hf, self.patches.get(images))

    def positions(self, ids: Sequence[int], images: Sequence[ImageRef]) -> Int[Tensor, "3 tokens"]:
        """Positions of a whole sequence from its start, on the CPU; see ``positions_from``."""
        positions, _ = self.positions_from(ids, images, start=0)
        return positions

    def positions_from(
        self, ids: Sequence[int], images: Sequence[ImageRef], *, start: int
    ) -> tuple[Int[Tensor, "3 tokens"], int]:
        """Positions of a chunk of whole images and text, and the position after it.

        For time, height and width, whatever the family: one with plain positions has the same on all three.
        """
        grids = [self.view.token_grid(image) for image in images]
        positions, end = self.family.positions(ids, grids, image_token_id=self.image_token_id, start=start)
        return torch.from_numpy(positions), end

    def embed(
        self,
        ids: Int[Tensor, "rows tokens"],
        features: Sequence[ImageFeatures],
        image_places: Int[Tensor, "image_tokens"] | None = None,
    ) -> Embedded:
        """Embeds ids; ``features`` are those of the images in the chunk, in row-major order.

        With ``image_places``, where their tokens stand in that order, the host need not wait for a GPU to find them.
        """
        inputs = self.hf.get_input_embeddings()(ids)
        is_image = ids == self.image_token_id
        if features:
            tokens = torch.cat([feature.tokens for feature in features]).to(inputs.dtype)
            if image_places is None:
                inputs = inputs.masked_scatter(is_image[..., None], tokens)
            else:
                inputs = inputs.flatten(0, 1).index_copy(0, image_places, tokens).view_as(inputs)
        depth = len(features[0].deepstack) if features else 0
        deepstack = tuple(torch.cat([feature.deepstack[layer] for feature in features]) for layer in range(depth))
        of_layers = self.family.layer_inputs(self.hf, ids, is_image)
        return Embedded(
            inputs=inputs, is_image=is_image, deepstack=deepstack, layer_inputs=of_layers, image_places=image_places
        )

    def hidden(
        self,
        embedded: Embedded,
        positions: Int[Tensor, "3 rows tokens"],
        attention_mask: AttentionMask | None = None,
        cache: Cache | None = None,
        packing: Layout | None = None,
        prefix: SharedPrefix | None = None,
        watch: Watch | None = None,
        routing: Routing | None = None,
        wanted: Int[Tensor, "wanted"] | None = None,
    ) -> Float[Tensor, "rows tokens hidden"]:
        """Last hidden states.

        ``attention_mask`` is None for whole rows, or bool, true where a token may look. ``packing`` says
        which tokens of a single row belong together; it goes with neither mask nor cache. With ``prefix``, on a CPU
        only, the mask is of the keys that follow the prefix and is added to the scores. ``watch`` sees what meets in
        every layer, ``routing`` what routers choose, where there are ``experts``. ``wanted`` are places in a pack whose
        states alone are given, (1, wanted, hidden).
        """
        extra: dict[str, object] = {}
        if embedded.deepstack:
            where = embedded.is_image if embedded.image_places is None else embedded.image_places
            extra = {"visual_pos_masks": where, "deepstack_visual_embeds": list(embedded.deepstack)}
        if embedded.layer_inputs is not None:
            extra["per_layer_inputs"] = embedded.layer_inputs
        if prefix is not None:
            extra["prefix"] = prefix
        if watch is not None:
            extra["watch"] = watch
        if routing is not None:
            extra[ROUTING] = routing
        if packing is not None:
            extra["packing"] = packing
            # transformers builds no mask of its own beside one of four dimensions; attention over a pack reads none.
            attention_mask = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=positions.device)
            if self.mask_rule is not None:
                extra["masks"] = PackMasks(self.mask_rule, embedded.is_image[0], packing)
            if self.attends_at_once(embedded.inputs.device, embedded.inputs.dtype):
                from saccade.models.varlen_attention import PackSequences

                extra["sequences"] = PackSequences.of(packing, embedded.inputs.device)
        elif self.mask_rule is not None and attention_mask is None and cache is None:
            attention_mask = self.mask_rule.plain(embedded.is_image)
        output = self.language_model(
            inputs_embeds=embedded.inputs,
            position_ids=self.family.language_positions(positions),
            attention_mask=attention_mask,
            **{self._cache_name: cache},
            use_cache=cache is not None,
            **extra,
        )
        hidden: Tensor = output.last_hidden_state
        return hidden if wanted is None else hidden[:, wanted]

    def attends_at_once(self, device: torch.device, dtype: torch.dtype) -> bool:
        """Whether the layers attend to a pack of such states in one call; UserError where that is asked and cannot be.

        By itself it is done on a GPU alone, where ``models.varlen_attention`` can.
        """
        is_asked = self.pack_attention == "varlen"
        if self.pack_attention == "plain" or not (is_asked or device.type == "cuda"):
            return False
        if self.batch_invariant:
            missing = "with model.batch_invariant=true attention has one order of its own"
        elif self.mask_rule is not None and self.mask_rule.both_ways:
            missing = f"in {self.family.model_type} the tokens of a picture see those after them"
        else:
            from saccade.models.varlen_attention import missing_for

            heads = int(self.hf.config.text_config.num_attention_heads)
            missing = missing_for(device, dtype, (heads, *self.key_heads[0]))
        if missing and is_asked:
            raise UserError(f"pack_attention=varlen cannot be had: {missing}; leave pack_attention=auto")
        return not missing

    def logprob_logits(
        self, hidden: Float[Tensor, "*rows hidden"], temperature: float
    ) -> Float[Tensor, "*rows vocabulary"]:
        """Logits that engine and learner score by; see ``at_temperature``."""
        return self.at_temperature(self.head_logits(hidden), temperature)

    def head_logits(self, hidden: Float[Tensor, "*rows hidden"]) -> Float[Tensor, "*rows vocabulary"]:
        """What the head makes of last hidden states, as transformers' own class gives it."""
        logits: Tensor = self.hf.lm_head(hidden)
        if self.logit_cap is None:
            return logits
        if self.batch_invariant:
            from saccade.models.batch_invariant import by_blocks

            return by_blocks(torch.tanh, logits / self.logit_cap) * self.logit_cap
        return torch.tanh(logits / self.logit_cap) * self.logit_cap

    def at_temperature(
        self, logits: Float[Tensor, "*rows vocabulary"], temperature: float
    ) -> Float[Tensor, "*rows vocabulary"]:
        """fp32 logits at a temperature, forbidden tokens at -inf; ``logits`` of the head may be overwritten."""
        allowed = logits.float().index_fill_(-1, self.forbidden_ids, float("-inf"))
        return allowed if temperature == 1 else allowed / temperature

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        """As ``saccade.models.vlm`` gives them: what an engine of its own samples with."""
        return named_weights(self)

    def adapted_weights(self) -> AdaptedWeights | None:
        """The same told apart, where there is an adapter."""
        return None if self.adapter is None else adapted_weights(self)

    def save(self, directory: Path) -> None:
        """Hugging Face layout: weights, configuration, tokenizer with its chat template, image processor.

        Of a model with an adapter the adapter alone, in PEFT's layout; ``save_base`` writes the rest.
        """
        with quiet_transformers():
            self._save_weights(directory, base=False)

    def save_base(self, directory: Path) -> None:
        """The frozen model below the adapter, as a checkpoint of its own."""
        with quiet_transformers():
            self._save_weights(directory, base=True)

    def save_inputs(self, directory: Path) -> None:
        """Tokenizer and image processor alone, as ``save`` writes them."""
        with quiet_transformers():
            self._save_inputs(directory)

    def _save_weights(self, directory: Path, *, base: bool) -> None:
        # What stood there before is not what will stand there.
        (directory / CHECKSUMS).unlink(missing_ok=True)
        # Where the weights came from must not show in the files: a resumed run writes the same bytes.
        for config in (self.hf.config, self.hf.config.text_config, self.hf.config.vision_config):
            config.dtype = self.dtype
        if self.adapter is None or base:
            self.hf.save_pretrained(directory, state_dict=base_state(self) if self.adapter else None)
        else:
            save_adapter(self, directory)
            self.hf.config.save_pretrained(directory)
        self._save_inputs(directory)

    def _save_inputs(self, directory: Path) -> None:
        for key in ("is_local", "local_files_only", "model_specific_special_tokens"):
            self.tokenizer.init_kwargs.pop(key, None)
        self.tokenizer.save_pretrained(directory)
        self.image_processor.save_pretrained(directory)
        if processor := self.family.processor_config(self.hf.config):
            text = json.dumps(processor, indent=2, sort_keys=True)
            (directory / "processor_config.json").write_text(text + "\n", encoding="utf-8")


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Inside, errors alone are said: a run has its own progress, and a checkpoint's faults end its loading in words.

    transformers also changes what all threads share while it loads: two at a time lose weights that are tied.
    """
    with _ALONE:
        verbosity, shows_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            yield
        finally:
            logging.set_verbosity(verbosity)
            if shows_bars:
                logging.enable_progress_bar()


def named_weights(model: VisionLanguageModel) -> Iterator[tuple[str, Tensor]]:
    """Every weight once, an adapter added to what it adapts; of tied weights only the first is named."""
    return each_once(model.hf.state_dict() if model.adapter is None else merged_state(model.hf))


def load_weights(model: VisionLanguageModel, weights: Iterable[tuple[str, Tensor]]) -> None:
    """Copies weights into a model without an adapter; ``SaccadeError`` when they are those of another model."""
    for weight, given in _weight_pairs(model, weights).values():
        weight.copy_(given)


def load_adapted(model: VisionLanguageModel, adapted: AdaptedWeights, *, has_base: bool) -> None:
    """As ``load_weights``, with a base and its adapter; what ``has_base`` already keeps what the adapter leaves alone.

    One weight is added to after the other, so that beside the base no more than one is in memory.
    """
    pairs, changed = _weight_pairs(model, adapted.base_weights()), {*adapted.adapters, *adapted.whole}
    if unknown := changed - pairs.keys():
        raise SaccadeError(f"this is the adapter of another model, which has a weight {min(unknown)}")
    for name in changed if has_base else pairs:
        weight, given = pairs[name]
        weight.copy_(adapted.merged_weight(name, given))


def _weight_pairs(
    model: VisionLanguageModel, weights: Iterable[tuple[str, Tensor]]
) -> dict[str, tuple[Tensor, Tensor]]:
    """The model's weights, each with the one that it is to become."""
    if model.adapter is not None:
        raise SaccadeError("weights cannot be copied into a model with an adapter; load it without")
    from saccade.models.eight_bit_linear import refuse_eight_bit

    refuse_eight_bit(model.hf, "an engine with weights of its own is given them in full")
    own, given = dict(named_weights(model)), dict(weights)
    wrong = own.keys() ^ given.keys() or {name for name in own if own[name].shape != given[name].shape}
    if wrong:
        raise SaccadeError(
            f"these are the weights of another model: {len(wrong)} differ in name or shape, such as {min(wrong)}"
        )
    # No directory holds these weights.
    model.source = None
    return {name: (weight, given[name]) for name, weight in own.items()}
