"""Memory of a training step: activation checkpointing, and errors that name the settings to change."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

from saccade.errors import MachineError, UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import TrainingSequence
from saccade.models.memory import asked_for, is_out_of_memory
from saccade.models.vlm import VisionLanguageModel

AHEAD_BYTES = 256 << 20
"""Activations that may be on their way to the host, and as many back from it, beside what the device works on."""


@contextmanager
def activation_checkpointing(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Inside, layers of these modules keep their inputs only, and work the rest out again in backward (1604.06174).

    The model stays in evaluation mode, so that no dropout of its configuration can act.
    """
    layers = [one for module in modules for one in module.modules() if isinstance(one, GradientCheckpointingLayer)]
    # Nothing inside a layer draws random numbers, so no generator's state has to be kept.
    recomputed = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
    for layer in layers:
        layer.gradient_checkpointing, layer._gradient_checkpointing_func = True, recomputed
        # transformers checkpoints a layer in training mode; its children stay as they are.
        layer.training = True
    try:
        yield
    finally:
        for layer in layers:
            layer.gradient_checkpointing, layer.training = False, False


@contextmanager
def memory_errors(settings: OptimizerSettings) -> Iterator[None]:
    """MachineError that names the settings to change where the GPU's or the CPU's memory runs out."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise MachineError(
            f"training ran out of memory{asked_for(error)}; {_advice(settings)}, or take a smaller model"
        ) from error


def check_images_fit(model: VisionLanguageModel, sequences: Sequence[TrainingSequence], *, max_tokens: int) -> None:
    """UserError when one image has more tokens than a micro-batch may: images are never cut."""
    images = {image.hash: image for sequence in sequences for image in sequence.images}
    largest = max((model.view.token_count(image) for image in images.values()), default=0)
    if largest > max_tokens:
        longest = max(len(sequence.ids) for sequence in sequences)
        raise UserError(
            f"micro_batch_tokens={max_tokens} is smaller than one image, which has {largest} tokens; the longest "
            f"sequence has {longest}: set micro_batch_tokens to that or more, or lower model.max_pixels"
        )


def _advice(settings: OptimizerSettings) -> str:
    """Settings that would save memory and are not yet used, the cheapest first."""
    steps = [f"lower micro_batch_tokens (now {settings.micro_batch_tokens})"]
    if not settings.activation_checkpointing:
        steps.append("set activation_checkpointing=true")
    elif not settings.offload_activations and torch.cuda.is_available():
        steps.append("set offload_activations=true")
    if settings.lora is None:
        steps.append("train an adapter with lora.rank=16")
    if not settings.offload_optimizer:
        steps.append("set offload_optimizer=true")
    if not settings.eight_bit_optimizer:
        steps.append("set eight_bit_optimizer=true")
    return ", ".join(steps)
