"""What a run will take in memory, from its sizes and settings alone, part by part and phase by phase.

The formulas count what the code keeps; ``benchmarks/memory_sizes.py`` prints them beside what was measured.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from saccade.engines.forward import samples_rounded
from saccade.learner.forwards import has_native_forward
from saccade.learner.logprobs import logits_at_once
from saccade.learner.memory import AHEAD_BYTES
from saccade.learner.optimizer import OptimizerSettings
from saccade.models.checkpoint import TINY_BELOW_WEIGHTS, LoadSettings
from saccade.models.eight_bit_linear import BYTES as EIGHT_BIT_BYTES
from saccade.models.families import language_model
from saccade.models.loading import DEFAULT_MAX_PIXELS
from saccade.models.lora import LoraSettings
from saccade.models.plain_layers import has_known_layers
from saccade.models.shape import ChosenShape, LayerShape, ModelShape
from saccade.rollout.episodes import RolloutSettings
from saccade.train.memory_roles import Role
from saccade.train.stage_settings import RLSettings

Phase = Literal["always", "sampling", "learning", "step"]
PHASES: tuple[Phase, ...] = ("sampling", "learning", "step")
Place = Literal["device", "host"]

PROGRAM_BYTES = 430 << 20
"""Python, torch and transformers on a CPU, with what they load as a model learns."""
_TOKEN_BYTES = 500
"""Of the tokenizer, for a token of the vocabulary."""
_ROUNDING_BYTES = 60 << 20
"""Of oneDNN, which compiles products in bfloat16 on a CPU and keeps them."""
GPU_PROGRAM_BYTES = 700 << 20
GPU_CONTEXT_BYTES = 600 << 20
_SHARE_OF_HOLES = 0.2
"""Of activations, fitted to packs of 512 and 828 tokens on 30 and 24 layers: glibc wants more than the size of an
aligned block, so the hole that one of torch's leaves is too small for the next of the same size. Tiny models have
fewer."""
_DECODED_BYTES = 256 << 20
"""Patches of pictures that are kept between steps (``models/pixels.py``)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryPart:
    """Something that takes memory, where, and while what is done."""

    name: str
    bytes: int
    phase: Phase = "always"
    place: Place = "device"


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What is worked on at once, at most."""

    pack_tokens: int
    """Of one micro-batch."""
    pack_image_tokens: int
    rows: int
    """Trajectories that are sampled together."""
    row_tokens: int
    """Of the longest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryPlan:
    """One process of a run."""

    parts: tuple[MemoryPart, ...]

    def peak(self, place: Place = "device") -> int:
        return max(self.in_phase(phase, place) for phase in PHASES)

    def in_phase(self, phase: Phase, place: Place = "device") -> int:
        return sum(part.bytes for part in self.parts if part.place == place and part.phase in ("always", phase))

    def highest_phase(self, place: Place = "device") -> Phase:
        return max(PHASES, key=lambda phase: self.in_phase(phase, place))


def usual_load(shape: ModelShape, model: LoadSettings, rl: RLSettings, rollout: RolloutSettings) -> Load:
    """The most that the settings allow: trajectories as long as they may be, half of a pack pictures."""
    longest = rollout.max_tokens
    pack = max(rl.optimizer.micro_batch_tokens, longest)
    rows = min(model.engine.max_rows, rl.tasks_per_step * rl.group_size)
    picture = max(1, _max_pixels(shape, model) // (shape.patch_px * shape.merge) ** 2)
    return Load(
        pack_tokens=pack,
        pack_image_tokens=min(pack, max(picture, pack // 2 // picture * picture)),
        rows=rows,
        row_tokens=longest,
    )


def memory_plan(
    shape: ModelShape,
    *,
    model: LoadSettings,
    optimizer: OptimizerSettings,
    load: Load,
    on_gpu: bool = False,
    role: Role = Role(),
    needs_reference: bool = False,
    needs_critic: bool = False,
    teacher: ModelShape | None = None,
    compares_whole: bool = False,
) -> MemoryPlan:
    """Parts of the process of this role; learners share the learner's weights (FSDP2).

    ``teacher`` is one with weights of its own, which the first learner holds whole; ``compares_whole`` says that its
    distributions are compared with the policy's.
    """
    is_half = model.dtype == "bfloat16" or (model.dtype == "auto" and on_gpu and shape.is_half)
    width = 2 if is_half else 4
    one = _Process(
        shape=shape, model=model, optimizer=optimizer, load=load, on_gpu=on_gpu, role=role, width=width,
        chosen=_chosen(shape, optimizer),
    )  # fmt: skip
    parts = [*one.program()]
    if role.learners:
        parts += [*one.states(needs_reference=needs_reference, needs_critic=needs_critic), *one.learning()]
        if teacher is not None and role.is_first_learner:
            parts.append(MemoryPart(name="teacher", bytes=width * teacher.weights))
        if compares_whole:
            # Ten arrays of a quarter of the logits: two distributions, what their comparison keeps, and gradients.
            logits = 10 * logits_at_once(on_gpu=on_gpu)
            parts.append(MemoryPart(name="distributions of policy and teacher", bytes=logits, phase="learning"))
    if role.samples:
        parts += one.sampling()
    return MemoryPlan(parts=tuple(part for part in parts if part.bytes))


def _chosen(shape: ModelShape, settings: OptimizerSettings) -> ChosenShape:
    if settings.trained is not None:
        return shape.chosen(settings.trained)
    if settings.lora is not None:
        return ChosenShape(weights=0, has_vision=False, has_tower=False, has_head=False)
    sees = not settings.frozen_vision
    weights = shape.weights - (0 if sees else shape.vision_weights)
    return ChosenShape(weights=weights, has_vision=sees, has_tower=sees, has_head=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Process:
    shape: ModelShape
    model: LoadSettings
    optimizer: OptimizerSettings
    load: Load
    on_gpu: bool
    role: Role
    width: int
    """Bytes of a weight."""
    chosen: ChosenShape
    """The model's own weights that are trained."""

    @property
    def adapter(self) -> int:
        """Weights of the adapter."""
        return 0 if self.optimizer.lora is None else self.shape.adapter_weights(self.optimizer.lora)

    @property
    def trained(self) -> int:
        return self.adapter + self.chosen.weights

    @property
    def own_weights(self) -> int:
        """Of the model, on this process; a tower that is not trained stays whole."""
        shards = max(1, self.role.learners)
        whole = 0 if self.chosen.has_vision else self.shape.vision_weights
        return (self.shape.weights - whole) // shards + whole

    @property
    def has_kernels(self) -> bool:
        """Whether the language model is sampled from by the CPU's kernels."""
        is_known = self.model.frozen_weights == "full" and has_native_forward(self.shape.skeleton)
        return not self.on_gpu and self.width == 4 and is_known

    @property
    def is_native(self) -> bool:
        """Whether it learns by them, which keep less."""
        return self.has_kernels and not self.optimizer.compile

    @property
    def phase_of_pages(self) -> Phase:
        """When keys and values are in memory; decode steps that are kept keep theirs and what they compute in."""
        keeps = self.on_gpu and self.model.engine.keep_graphs and has_known_layers(language_model(self.shape.skeleton))
        return "always" if keeps else "sampling"

    @property
    def copied(self) -> int:
        """Weights whose masters are not the weights themselves; those of an adapter are in fp32."""
        if self.optimizer.offload_optimizer:
            return self.trained
        return self.chosen.weights if self.width == 2 else 0

    def program(self) -> Iterator[MemoryPart]:
        """What every process holds."""
        shape, shards = self.shape, max(1, self.role.learners)
        adapter = 4 * self.adapter
        coded = shape.adapted_weights(LoraSettings()) if self.model.frozen_weights == "int8" else 0
        yield MemoryPart(name="weights", bytes=self.width * (self.own_weights - coded) + adapter // shards)
        yield MemoryPart(name="frozen weights in 8 bits", bytes=int(EIGHT_BIT_BYTES * coded))
        if self.role.has_copy:
            yield MemoryPart(name="weights of the engine, whole", bytes=self.width * shape.weights + adapter)
        if not self.on_gpu:
            rounds = self.width == 2 or self.model.matmul_precision == "medium"
            yield MemoryPart(name="program", bytes=PROGRAM_BYTES + (_ROUNDING_BYTES if rounds else 0))
            yield MemoryPart(name="tokenizer", bytes=_TOKEN_BYTES * shape.vocabulary)
            return
        yield MemoryPart(name="program", bytes=GPU_PROGRAM_BYTES, place="host")
        yield MemoryPart(name="CUDA context", bytes=GPU_CONTEXT_BYTES)

    def states(self, *, needs_reference: bool, needs_critic: bool) -> Iterator[MemoryPart]:
        shape, settings, shards = self.shape, self.optimizer, self.role.learners
        if shards > 1:
            layer = shape.weights // max(1, shape.language.count + shape.vision.count)
            whole = 2 * self.width * max(layer, shape.largest)
            yield MemoryPart(name="layers gathered from all ranks", bytes=whole, phase="learning")
        if needs_reference and settings.lora is None:
            yield MemoryPart(name="reference policy", bytes=self.width * self.own_weights)
        kept: Place = "host" if settings.offload_optimizer and self.on_gpu else "device"
        yield MemoryPart(name="fp32 masters", bytes=4 * self.copied // shards, place=kept)
        yield MemoryPart(name="moments", bytes=self._moments() // shards, place=kept)
        for phase in ("learning", "step"):
            place: Place = "device" if phase == "learning" else kept
            yield MemoryPart(name="gradients (fp32)", bytes=4 * self.trained // shards, phase=phase, place=place)
        # The root of the largest weight's second moments, on a CPU before and after it is scaled.
        temporary = (4 if self.on_gpu else 8) * min(shape.largest, self.trained) // shards
        yield MemoryPart(name="temporaries of the optimiser", bytes=temporary, phase="step", place=kept)
        if needs_critic:
            # A head of two layers and a copy of no trunk: small beside all else.
            yield MemoryPart(name="critic", bytes=16 * 2 * shape.language.hidden**2)

    def _moments(self) -> int:
        settings, shape = self.optimizer, self.shape
        if settings.muon and settings.lora is None:
            inner = min(shape.inner_matrices, self.trained)
            return 4 * inner + (2 if settings.eight_bit_optimizer else 8) * (self.trained - inner)
        # Codes of one byte, and a scale of four for each 256 of them.
        return int(self.trained * (2 * (1 + 4 / 256) if settings.eight_bit_optimizer else 8))

    def learning(self) -> Iterator[MemoryPart]:
        shape, settings, load = self.shape, self.optimizer, self.load
        recomputes = settings.activation_checkpointing
        by_kind = [
            self._kept(
                part, load.pack_tokens, is_native=self.is_native, lora=settings.lora is not None, recomputes=recomputes
            )
            for part in _by_kind(shape.language, recomputes=recomputes)
        ]
        # One layer is worked out again at a time.
        kept, sent = (max(parts) if recomputes else sum(parts) for parts in zip(*by_kind))
        yield MemoryPart(name="activations of a pack: language model", bytes=kept, phase="learning")
        yield self._sent("language model", sent)
        if not self.on_gpu and shape.weights >= TINY_BELOW_WEIGHTS:
            holes = int(_SHARE_OF_HOLES * kept)
            if settings.activation_checkpointing:
                # The inputs that are kept lie apart: between two of them is what a layer's work has left, where blocks
                # of the next layer's no longer fit, mostly one of the MLP and one of hidden states.
                layers = shape.language
                holes = load.pack_tokens * layers.count * self.width * (layers.hidden + layers.mlp)
            yield MemoryPart(name="freed memory between activations", bytes=holes, phase="learning")
        if self.chosen.has_tower:
            on_its_own = settings.vision_checkpointing
            recomputes = settings.activation_checkpointing or on_its_own == "on"
            recomputes = recomputes or (on_its_own == "auto" and shape.weights >= TINY_BELOW_WEIGHTS)
            tower, sent = self._tower(load.pack_image_tokens * shape.merge**2, recomputes=recomputes)
            yield MemoryPart(name="activations of a pack: vision tower", bytes=tower, phase="learning")
            yield self._sent("vision tower", sent)
        rows = min(load.pack_tokens, max(1, logits_at_once(on_gpu=self.on_gpu) // shape.vocabulary))
        yield from self._head(rows, kept)

    def _head(self, rows: int, kept: int) -> Iterator[MemoryPart]:
        """Logits of so many tokens, and gradients of the head; ``kept`` are activations, which go first."""
        shape, is_trained = self.shape, self.chosen.has_head
        chunk, head = 4 * rows * shape.vocabulary, 4 * shape.head
        if self.on_gpu or self.width == 2:
            # Probabilities and their gradients, with one copy for the product's precision.
            logits, embeddings = 3 * chunk, 0
        else:
            # The forward has two chunks; the backward overwrites one, and has the head's gradient beside it.
            logits, head = (chunk, max(head, chunk)) if is_trained else (2 * chunk, head)
            embeddings = max(0, 4 * shape.head - kept - chunk) if shape.is_tied else 0
        yield MemoryPart(name="logits", bytes=logits, phase="learning")
        if is_trained:
            # It is summed up in fp32 beside what earlier micro-batches have given.
            yield MemoryPart(name="gradient of the head", bytes=head, phase="learning")
            yield MemoryPart(name="gradient of the embeddings", bytes=embeddings, phase="learning")

    def _kept(
        self, layer: LayerShape, tokens: int, *, is_native: bool, lora: bool, recomputes: bool
    ) -> tuple[int, int]:
        """As ``_kept_layers``, on the device, and what of it lies in the host's memory."""

        def bytes_of(layer: LayerShape) -> int:
            return _kept_layers(layer, tokens, self.width, is_native=is_native, lora=lora, recomputes=recomputes)

        whole = bytes_of(layer)
        if not self.optimizer.offload_activations:
            return whole, 0
        # One layer at work, and some of what is on its way to the host and back.
        at_work = bytes_of(replace(layer, count=0 if recomputes else 1))
        sent = whole - at_work if recomputes else whole
        return at_work + min(sent, 2 * AHEAD_BYTES), sent

    def _sent(self, name: str, sent: int) -> MemoryPart:
        place: Place = "host" if self.on_gpu else "device"
        return MemoryPart(name=f"activations in the host's memory: {name}", bytes=sent, phase="learning", place=place)

    def _tower(self, patches: int, *, recomputes: bool) -> tuple[int, int]:
        """Its layers, and what its ends keep: pixels, and merged patches on their way to the language model.

        What is worked out again comes when the language model's activations are gone. Then what is in the host's
        memory, if anything.
        """
        vision, shape = self.shape.vision, self.shape
        ends = patches * self.width * (3 * shape.patch_px**2 + 6 * vision.hidden)
        if recomputes:
            inputs = patches * vision.count * self.width * vision.hidden
            if not self.optimizer.offload_activations:
                return ends + inputs, 0
            return ends + min(inputs, 2 * AHEAD_BYTES), inputs
        # Blocks of Qwen2.5-VL's tower have a language model's layers; the kernels know no other tower.
        is_native = self.is_native and shape.model_type == "qwen2_5_vl"
        kept, sent = self._kept(vision, patches, is_native=is_native, lora=False, recomputes=False)
        return ends + kept, sent

    def sampling(self) -> Iterator[MemoryPart]:
        shape, load, limits = self.shape, self.load, self.model.engine
        tokens = load.rows * load.row_tokens
        if limits.cache_tokens is not None:
            tokens = min(tokens, max(limits.cache_tokens, load.row_tokens))
        cache = tokens * shape.cache_numbers * self.width
        yield MemoryPart(name="keys and values", bytes=cache, phase=self.phase_of_pages)
        # Before a forward and after it, and those of prompts.
        states = 3 * 4 * load.rows * shape.language.state
        yield MemoryPart(name="states of recurrent layers", bytes=states, phase="sampling")
        yield MemoryPart(name="weights with the adapter in them", bytes=self._merged(), phase="sampling")
        language = shape.language
        if self.on_gpu:
            gathered = 2 * tokens * language.key * self.width
            yield MemoryPart(name="one layer's rows, gathered", bytes=gathered, phase=self.phase_of_pages)
        chunk = min(max(limits.max_chunk_tokens, load.row_tokens), load.rows * load.row_tokens)
        widths = (4 + 2 * language.copies) * language.hidden + 2 * language.query + 2 * language.key + 3 * language.mlp
        yield MemoryPart(name="a forward of prompts", bytes=chunk * widths * self.width, phase="sampling")
        # Logits; off the CPU's kernels also probabilities and their sums in float64.
        per_logit = 24 if self.on_gpu or self.width == 2 else 8
        drawn = max(load.rows, min(limits.max_rows, load.rows * (1 + limits.drafts)))
        yield MemoryPart(name="logits of all rows", bytes=drawn * shape.vocabulary * per_logit, phase="sampling")
        features = min(limits.feature_mib << 20, load.rows * load.pack_image_tokens * language.hidden * self.width)
        yield MemoryPart(name="features of images", bytes=features)
        patches = load.rows * load.pack_image_tokens * (shape.merge * shape.patch_px) ** 2 * 3 * 4
        yield MemoryPart(
            name="patches of images", bytes=min(_DECODED_BYTES, patches), place="host" if self.on_gpu else "device"
        )

    def _merged(self) -> int:
        """Bytes of the weights that ``native`` copies: all of them rounded, or in fp32 those with an adapter.

        An engine with a model of its own has no adapter.
        """
        shape, lora = self.shape, self.optimizer.lora
        if self.has_kernels and samples_rounded(shape.language_weights, self.model.matmul_precision):
            return 2 * (shape.language_weights + shape.head)
        is_merged = self.has_kernels and self.load.rows >= 8 and not self.role.has_copy and bool(self.role.learners)
        return self.width * shape.adapted_weights(lora) if lora is not None and is_merged else 0


def _by_kind(layer: LayerShape, *, recomputes: bool) -> Iterator[LayerShape]:
    """The layers with attention, and the recurrent ones, which have no more of it; all as either if one is at work."""
    if layer.count > layer.recurrent:
        yield replace(layer, count=layer.count - (0 if recomputes else layer.recurrent), recurrent_kept=0)
    if layer.recurrent:
        yield replace(layer, count=layer.count if recomputes else layer.recurrent, query=0, key=0, has_norms=False)


def _kept_layers(layer: LayerShape, tokens: int, width: int, *, is_native: bool, lora: bool, recomputes: bool) -> int:
    """Bytes that the layers of a forward keep for their backward, and what one of them takes while it is at work."""
    h, q, k, m = layer.hidden, layer.query, layer.key, layer.mlp
    if is_native:
        # The fields of ``LayerStates`` and the layer's input.
        whole = 4 * (4 * h + q + (2 if layer.has_norms else 1) * (q + k) + k + 2 * m)
    else:
        # Norms keep their input in fp32, what it becomes and their result; attention queries, repeated keys and
        # values, and its result twice; the MLP its four products, each expert what it is given and gives.
        of_norms = layer.norms * (4 + 2 * width) * h + (2 * (4 + width) * (q + k) // 2 if layer.has_norms else 0)
        whole = of_norms + width * (5 * q + 4 * m + 2 * layer.copies * h + 8 * layer.extra)
        if lora and width == 4:
            # Frozen norms keep their input alone; it and every other input of a product is an adapter's too.
            whole -= 4 * (layer.norms * h + q) + (4 * (q + k) if layer.has_norms else 0)
        elif lora:
            # Adapters see their inputs in fp32; frozen products keep none of theirs.
            whole += 4 * (5 * h + q + m) - width * (h + m)
        whole += 4 * layer.recurrent_kept
    if not recomputes:
        return tokens * layer.count * whole
    # The kernels write gradients of the MLP over what it had kept.
    backward = width * (3 * h + m if is_native else 3 * h + 2 * q + 2 * k + 3 * m)
    return tokens * (layer.count * width * (h + 3 * layer.extra) + whole + backward)


def _max_pixels(shape: ModelShape, model: LoadSettings) -> int:
    own = shape.max_pixels or DEFAULT_MAX_PIXELS
    if model.max_pixels == "checkpoint":
        return own
    return min(own, DEFAULT_MAX_PIXELS) if model.max_pixels is None else model.max_pixels


def grouped(plan: MemoryPlan) -> Mapping[Place, tuple[MemoryPart, ...]]:
    """Parts by where they are, the largest first."""
    ordered = sorted(plan.parts, key=lambda part: -part.bytes)
    return {place: tuple(part for part in ordered if part.place == place) for place in ("device", "host")}
