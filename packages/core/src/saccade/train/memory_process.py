"""What one process of a run keeps in memory: its parts, its weights and their states, and what sampling takes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from saccade.engines.forward import samples_rounded
from saccade.learner.forwards import has_native_forward
from saccade.learner.optimizer import OptimizerSettings
from saccade.models.checkpoint import LoadSettings
from saccade.models.eight_bit_linear import BYTES as EIGHT_BIT_BYTES
from saccade.models.families import language_model
from saccade.models.lora import LoraSettings
from saccade.models.plain_layers import has_known_layers
from saccade.models.shape import ChosenShape, ModelShape
from saccade.train.memory_roles import Role

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
class ProcessMemory:
    """What a process of this role holds, in bytes: always, as states of the optimiser, and while it samples."""

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
