"""One loaded vision-language model, as engine and learner share it: the same weights, masks, pixels, positions."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import Cache, PreTrainedModel, PreTrainedTokenizerFast

from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.models.attention import Layout, Watch, enable_packs
from saccade.models.chat import ObservationRole
from saccade.models.checkpoint import TINY_BELOW_WEIGHTS
from saccade.models.configured_chat import chat_of, forbidden_ids
from saccade.models.families import family_of
from saccade.models.families.family import Family, ImageFeatures, plain_heads
from saccade.models.lora import Adapter, adapted_weights
from saccade.models.low_rank import AdaptedWeights
from saccade.models.masks import AttentionMask
from saccade.models.pixels import ImageProcessor, PatchCache, add_at_places, project_by_product
from saccade.models.recurrent import carry_states, recurrent_layers
from saccade.models.routing import ROUTING, Routing, enable_routing
from saccade.models.shared_prefix import SharedPrefix
from saccade.models.weights_by_name import named_weights
from saccade.types import ImageRef


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
        self.forbidden_ids = torch.tensor(
            forbidden_ids(tokenizer, self.family, self.vocab_size, self.spelled), dtype=torch.long, device=home
        )
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
            from saccade.models.packs import told_of_pack

            extra |= told_of_pack(self, embedded, packing)
            # transformers builds no mask of its own beside one of four dimensions; attention over a pack reads none.
            attention_mask = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=positions.device)
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
        """As ``saccade.models.weights_by_name`` gives them: what an engine of its own samples with."""
        return named_weights(self)

    def adapted_weights(self) -> AdaptedWeights | None:
        """The same told apart, where there is an adapter."""
        return None if self.adapter is None else adapted_weights(self)

    def save(self, directory: Path) -> None:
        """Hugging Face layout: weights, configuration, tokenizer with its chat template, image processor.

        Of a model with an adapter the adapter alone, in PEFT's layout; ``save_base`` writes the rest.
        """
        from saccade.models.saving import write_model

        write_model(self, directory, base=False)

    def save_base(self, directory: Path) -> None:
        """The frozen model below the adapter, as a checkpoint of its own."""
        from saccade.models.saving import write_model

        write_model(self, directory, base=True)

    def save_inputs(self, directory: Path) -> None:
        """Tokenizer and image processor alone, as ``save`` writes them."""
        from saccade.models.saving import write_inputs

        write_inputs(self, directory)
