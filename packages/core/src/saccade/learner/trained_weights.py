"""Which weights of a model are trained: all of them, all but the vision tower, those chosen by name, an adapter's."""

import logging

from torch import nn

from saccade.errors import UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.models.chosen_weights import chosen_names, count_in_words, holders, in_words, plain_weights, tied_names
from saccade.models.lora import (
    LoraSettings,
    adapted_layers,
    adapter_parameters,
    add_adapter,
    mark_start,
    matching_names,
    merge_adapter,
)
from saccade.models.vlm import VisionLanguageModel

logger = logging.getLogger(__name__)


def choose_trained(model: VisionLanguageModel, settings: OptimizerSettings) -> None:
    """Sets which weights have gradients; those of one stage may be frozen in the next.

    UserError for a choice that this model has not, see ``check_trained``.
    """
    chosen = check_trained(model, settings)
    if settings.lora is not None or model.adapter is not None:
        # PEFT rounds a new adapter as its base is, and merges in the precision that both have.
        model.take_precision()
    if settings.lora is not None:
        _choose_adapter(model, settings, chosen)
        return
    if model.adapter is not None:
        which = "chosen" if chosen else "all"
        logger.info("the adapter of an earlier stage is merged into the model: %s weights are trained now", which)
        merge_adapter(model)
    model.source = None
    model.hf.requires_grad_(not chosen)
    # No gradient reaches them; ranks that share weights would take it for one of zeros, and let them decay.
    for module in model.family.unused_modules(model.hf):
        module.requires_grad_(False)
    if settings.frozen_vision:
        for weight in model.family.vision_weights(model.hf):
            weight.requires_grad_(False)
    _train(model, chosen)


def check_trained(model: VisionLanguageModel, settings: OptimizerSettings) -> list[str]:
    """The names of the weights that ``settings.trained`` chooses; none without it.

    UserError where it chooses none or all, or beside an adapter weights that the adapter's file cannot have whole. Also
    for an adapter on experts, and where there are none to balance.
    """
    from saccade.models.eight_bit_linear import refuse_eight_bit

    pattern, lora = settings.trained, settings.lora
    if lora is None:
        refuse_eight_bit(model.hf, "a stage without LoRA trains the weights themselves")
    if settings.router_aux_loss_coef and model.experts is None:
        raise UserError(
            f"router_aux_loss_coef={settings.router_aux_loss_coef} balances the experts of a mixture, and "
            f"{model.family.model_type} has none; leave it out"
        )
    # The default is a matter of linear layers, and what it leaves out is said.
    if lora is not None and lora.targets != LoraSettings.targets and (missed := missed_experts(model, lora)):
        raise UserError(
            f"lora.targets={lora.targets!r} also means {missed[0]}, one tensor of all experts of a layer, and adapters "
            r"are for linear layers. Leave experts out of it, as in '.*language_model\..*self_attn\..*_proj'; to train "
            "them, leave lora out"
        )
    if pattern is None:
        return []
    chosen = chosen_names(pattern, model.hf)
    if lora is None:
        return chosen
    own, tied = plain_weights(model.hf), tied_names(model.hf)
    for name in chosen:
        if len(names := tied.get(id(own[name]), ())) > 1:
            raise UserError(
                f"trained={pattern!r} takes {name}, which is {names[-1]} too: in the files of an adapter the two would "
                "be told apart. Leave it out, or train without lora"
            )
    inside = tuple(f"{name}." for name in holders(model.hf, chosen))
    if both := [name for name in adapted_layers(model, lora) if f"{name}.".startswith(inside)]:
        raise UserError(
            f"trained={pattern!r} trains {both[0]} whole, where lora.targets={lora.targets!r} puts an adapter too; "
            "change one of them"
        )
    return chosen


def trained_weights(model: VisionLanguageModel) -> dict[str, nn.Parameter]:
    """The weights that have gradients, each once, by their names."""
    return {name: weight for name, weight in model.hf.named_parameters() if weight.requires_grad}


def trained_in_words(model: VisionLanguageModel, settings: OptimizerSettings) -> str:
    """What is trained where ``settings.trained`` chooses it, or an adapter leaves experts out; else empty."""
    chosen, lora = check_trained(model, settings), settings.lora
    whole = in_words(model.hf, chosen) if chosen else ""
    if lora is None:
        return f"trained: {whole}" if whole else ""
    missed = missed_experts(model, lora)
    if not missed and not whole:
        return ""
    adapted = [name for name, weight in trained_weights(model).items() if ".lora_" in name]
    count = count_in_words(sum(model.hf.get_parameter(name).numel() for name in adapted))
    kinds = ", ".join(sorted({name.split(".lora_")[0].rpartition(".")[2] for name in adapted}))
    left = sum(model.hf.get_parameter(name).numel() for name in missed)
    return (
        f"trained: an adapter of {count} numbers"
        + (f", and whole {whole}" if whole else "")
        + (f"; it is in {kinds}, and the experts ({count_in_words(left)} numbers) have none" if missed else "")
    )


def missed_experts(model: VisionLanguageModel, lora: LoraSettings) -> list[str]:
    """Weights of experts whose names ``targets`` matches: three-dimensional ones, which are no linear layers."""
    names = [name for name, weight in plain_weights(model.hf).items() if weight.ndim == 3 and ".experts." in name]
    return matching_names(lora.inside(model.family).targets, names)


def _train(model: VisionLanguageModel, names: list[str]) -> None:
    own = plain_weights(model.hf)
    for name in names:
        own[name].requires_grad_(True)


def _choose_adapter(model: VisionLanguageModel, settings: OptimizerSettings, chosen: list[str]) -> None:
    """The adapter that the model has, where it is the one that is asked for, or a new one."""
    assert settings.lora is not None
    whole, adapter, lora = holders(model.hf, chosen), model.adapter, settings.lora.inside(model.family)
    if adapter is not None and not (adapter.settings.fits(lora) and adapter.whole == whole):
        logger.info("the adapter of an earlier stage is merged into the model: this stage has another")
        merge_adapter(model)
    if model.adapter is None:
        add_adapter(model, lora, whole=whole)
    else:
        mark_start(model)
    for name, weight in adapter_parameters(model).items():
        weight.requires_grad_(".lora_" in name)
    _train(model, chosen)
