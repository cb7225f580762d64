"""What learning takes in memory, forward and backward: activations, logits, gradients of the head."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from saccade.learner.logprobs import logits_at_once
from saccade.learner.memory import AHEAD_BYTES
from saccade.models.checkpoint import TINY_BELOW_WEIGHTS
from saccade.models.shape import LayerShape
from saccade.train.memory_process import MemoryPart, Place, ProcessMemory

_SHARE_OF_HOLES = 0.2
"""Of activations, fitted to packs of 512 and 828 tokens on 30 and 24 layers: glibc wants more than the size of an
aligned block, so the hole that one of torch's leaves is too small for the next of the same size. Tiny models have
fewer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnerMemory(ProcessMemory):
    """With what learning takes, where the process learns."""

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
