"""Checks of a model family's weights: its parts, adapters and frozen parts, files, and what they take in memory."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn
from transformers import AutoModelForImageTextToText, DynamicCache, PreTrainedModel
from transformers.cache_utils import CacheLayerMixin, LinearAttentionLayer

from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner.logprobs import action_tokens
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.trained_weights import choose_trained
from saccade.models.loading import write_merged
from saccade.models.lora import LoraSettings, adapter_parameters, add_adapter
from saccade.models.quiet import quiet_transformers
from saccade.models.shape import read_shape
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.family_case import SAID, FallsBackError, FamilyCase, plain_logits

_RANK = 2
_MERGED_BOUND = 2e-3
"""Of logits, where B A was rounded into the weights."""


def parts(case: FamilyCase) -> str:
    """Language model, head and vision hold each weight, and none holds another's."""
    model = case.model
    seeing = {id(weight) for weight in model.family.vision_weights(model.hf)}
    speaking = {id(weight) for part in (model.language_model, model.hf.lm_head) for weight in part.parameters()}
    inside = {id(weight) for module in model.family.vision_modules(model.hf) for weight in module.parameters()}
    every = {id(weight) for weight in model.hf.parameters()}
    assert seeing, "no weight is between pixels and language model"
    assert not seeing & speaking, f"{len(seeing & speaking)} weights are of vision and language"
    assert seeing | speaking == every, f"{len(every - seeing - speaking)} weights are of neither"
    assert inside <= seeing, "the vision modules hold weights that are none of vision"
    return f"{len(speaking)} weights of language, {len(seeing)} of vision"


def frozen(case: FamilyCase) -> str:
    """A frozen tower has no gradient; one that is trained has, and the language model in both cases."""
    found = []
    for is_frozen in (False, True):
        model = case.load()
        choose_trained(model, OptimizerSettings(frozen_vision=is_frozen))
        _backward(case, model)
        seeing = {id(weight) for weight in model.family.vision_weights(model.hf)}
        reached = {id(weight) for weight in model.hf.parameters() if weight.grad is not None and weight.grad.any()}
        assert reached - seeing, "no gradient reaches the language model"
        assert bool(reached & seeing) != is_frozen, f"frozen_vision={is_frozen}: {len(reached & seeing)} weights learn"
        found.append(len(seeing - reached))
    return f"{found[0]} of {found[1]} weights of vision have no gradient when trained, and none has when frozen"


def lora_on_language(case: FamilyCase) -> str:
    """The default adapter is in the language model alone; merged and opened by transformers it says the same."""
    model = case.load()
    choose_trained(model, OptimizerSettings(lora=LoraSettings(rank=_RANK)))
    names = [name for name in adapter_parameters(model) if ".lora_B" in name]
    wrong = [name for name in names if not name.startswith(f"{model.family.language}.")]
    assert names, "it is in no layer"
    assert not wrong, f"it is in {', '.join(wrong[:2])}"
    _learns(case, model, names)
    with torch.no_grad(), torch.random.fork_rng(devices=[]), TemporaryDirectory() as folder:
        torch.manual_seed(0)
        for weight in adapter_parameters(model).values():
            weight.normal_(std=0.02)
        ours, place = _logits(case, model), Path(folder)
        model.save(place / "adapter")
        same = _logits(case, case.load(place / "adapter"))
        assert torch.equal(same, ours), "the adapter that was saved says otherwise"
        write_merged(place / "adapter", place / "merged", dtype="float32")
        gap = float((_logits(case, case.load(place / "merged")) - ours).abs().max())
        lacking = _opened(place / "merged")[1]
    assert gap < _MERGED_BOUND, f"merged it is {gap:.1e} from the adapter in logits"
    assert not lacking, f"transformers opens what was merged with {lacking}"
    return f"{len(names)} layers; merged {gap:.1e} apart"


def lora_on_vision(case: FamilyCase) -> str:
    """Adapters in linear layers of the tower and behind it learn."""
    model = case.load()
    inside = {id(one) for module in model.family.vision_modules(model.hf) for one in module.modules()}
    named = [name for name, one in model.hf.named_modules() if isinstance(one, nn.Linear) and id(one) in inside]
    if not named:
        raise FallsBackError("nothing before the language model is a linear layer")
    add_adapter(model, LoraSettings(rank=_RANK, targets="|".join(map(re.escape, named))))
    names = [name for name in adapter_parameters(model) if ".lora_B" in name]
    assert len(names) == len(named), f"{len(names)} of {len(named)} layers have an adapter"
    learned = _learns(case, model, names)
    return f"{learned} of {len(named)} layers learn"


def saved(case: FamilyCase) -> str:
    """What is saved has each tensor, opens in transformers with none left, and gives the same bits."""
    model = case.model
    with TemporaryDirectory() as folder, torch.no_grad():
        model.save(Path(folder))
        again, lacking = _opened(Path(folder))
        ours, theirs = model.hf.state_dict(), again.state_dict()
        assert not lacking, f"transformers opens it with {lacking}"
        other = [name for name in ours.keys() | theirs.keys() if not _same(ours.get(name), theirs.get(name))]
        assert not other, f"{len(other)} tensors are others, such as {other[0]}"
        loaded = case.load(Path(folder))
        assert torch.equal(_logits(case, loaded), _logits(case, model)), "it gives other logits"
        assert loaded.view == model.view, f"views are {loaded.view}, and were {model.view}"
        assert torch.equal(loaded.forbidden_ids, model.forbidden_ids), "other tokens are kept from being said"
    tied = "tied" if model.hf.lm_head.weight is model.hf.get_input_embeddings().weight else "not tied"
    _, unused = _opened(case.directory)
    left = f"; of the files not taken: {unused}" if unused else ""
    return f"{len(ours)} tensors, head {tied}{left}"


@torch.no_grad()
def planned(case: FamilyCase) -> str:
    """The sizes that memory is planned with are those of the model."""
    model, shape = case.model, read_shape(case.directory)
    weights = sum(weight.numel() for weight in model.hf.parameters())
    seeing = sum(weight.numel() for weight in model.family.vision_weights(model.hf))
    assert (shape.weights, shape.vision_weights) == (weights, seeing), (
        f"{shape.weights} weights planned, {shape.vision_weights} of vision; there are {weights} and {seeing}"
    )
    most = max(case.pictures.values(), key=model.view.token_count)
    patches = model.patches.get([most])[0].values.numel() / (3 * shape.patch_px**2 * model.view.token_count(most))
    assert 0.5 < patches / shape.merge**2 < 2, f"an image token is {patches:.2f} patches; merge says {shape.merge**2}"
    said = model.chat.encode(model.chat.opening + SAID)
    cache, ids = DynamicCache(config=model.hf.config.text_config), said
    model.hidden(model.embed(torch.tensor([ids]), ()), model.positions(ids, ())[:, None], cache=cache)
    # A layer that looks at the keys of another has none.
    held = [one for one in cache.layers if getattr(one, "keys", None) is not None]
    kept = sum(one.keys.numel() + one.values.numel() for one in held)
    assert kept == shape.cache_numbers * len(ids), f"a token keeps {kept / len(ids)} numbers, not {shape.cache_numbers}"
    state = sum(_state_numbers(one) for one in cache.layers)
    assert state == shape.language.state, f"a sequence keeps {state} numbers, not {shape.language.state}"
    adapted = case.load()
    add_adapter(adapted, LoraSettings(rank=_RANK))
    count = sum(weight.numel() for weight in adapter_parameters(adapted).values())
    expected = shape.adapter_weights(LoraSettings(rank=_RANK))
    assert count == expected, f"an adapter has {count} weights, not {expected}"
    return f"{4 * weights:,} bytes of weights, {4 * shape.cache_numbers:,} a token"


def _state_numbers(layer: CacheLayerMixin | LinearAttentionLayer) -> int:
    """Of a recurrent layer; transformers keeps one input of the convolution more than is needed."""
    if not isinstance(layer, LinearAttentionLayer):
        return 0
    return int(
        sum(one[..., 1:].numel() for one in layer.conv_states.values())
        + sum(one.numel() for one in layer.recurrent_states.values())
    )


def _backward(case: FamilyCase, model: VisionLanguageModel) -> None:
    loss = negative_log_likelihood(action_tokens(model, case.sequences(), temperature=1.0)).value
    loss.backward()  # type: ignore[no-untyped-call]


def _learns(case: FamilyCase, model: VisionLanguageModel, names: list[str]) -> int:
    """How many of these weights a gradient reaches; AssertionError where it is none, or another weight has one."""
    _backward(case, model)
    grads = {name: weight.grad for name, weight in model.hf.named_parameters() if weight.grad is not None}
    others = [name for name in grads if ".lora_" not in name]
    assert not others, f"{others[0]} learns beside the adapter"
    learned = sum(bool(grads[name].any()) for name in names if name in grads)
    assert learned, f"no gradient reaches any of {len(names)} layers"
    return learned


@torch.no_grad()
def _logits(case: FamilyCase, model: VisionLanguageModel) -> Tensor:
    return plain_logits(model, case.in_pieces, case.shown).nan_to_num(neginf=0.0)


def _opened(directory: Path) -> tuple[PreTrainedModel, str]:
    """The model as transformers opens it, and what it says is missing or left; "" for nothing."""
    with quiet_transformers():
        model, told = AutoModelForImageTextToText.from_pretrained(
            directory, local_files_only=True, trust_remote_code=False, dtype=torch.float32, output_loading_info=True
        )
    said = [f"{len(names)} {kind} ({min(map(str, names))})" for kind, names in told.items() if names]
    return model.eval(), ", ".join(said)


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    return one is not None and other is not None and torch.equal(one, other)
