"""Which weights of a model are trained: all of them, all but the vision tower, or those of an adapter."""

import logging

from torch import nn

from saccade.learner.optimizer import OptimizerSettings
from saccade.models.lora import adapter_parameters, add_adapter, mark_start, merge_adapter
from saccade.models.vlm import VisionLanguageModel

logger = logging.getLogger(__name__)


def choose_trained(model: VisionLanguageModel, settings: OptimizerSettings) -> None:
    """Sets which weights have gradients; those of one stage may be frozen in the next."""
    if settings.lora is not None or model.adapter is not None:
        # PEFT rounds a new adapter as its base is, and merges in the precision that both have.
        model.take_precision()
    if settings.lora is not None:
        _choose_adapter(model, settings)
        return
    if model.adapter is not None:
        logger.info("the adapter of an earlier stage is merged into the model: all weights are trained now")
        merge_adapter(model)
    model.source = None
    model.hf.requires_grad_(True)
    if settings.frozen_vision:
        for module in model.family.vision_modules(model.hf):
            module.requires_grad_(False)


def trained_weights(model: VisionLanguageModel) -> dict[str, nn.Parameter]:
    """The weights that have gradients, each once, by their names."""
    return {name: weight for name, weight in model.hf.named_parameters() if weight.requires_grad}


def _choose_adapter(model: VisionLanguageModel, settings: OptimizerSettings) -> None:
    """The adapter that the model has, where it is the one that is asked for, or a new one."""
    assert settings.lora is not None
    if model.adapter is not None and not model.adapter.settings.fits(settings.lora):
        logger.info("the adapter of an earlier stage is merged into the model: this stage has another")
        merge_adapter(model)
    if model.adapter is None:
        add_adapter(model, settings.lora)
    else:
        mark_start(model)
    for weight in adapter_parameters(model).values():
        weight.requires_grad_(True)
