"""Low-rank adapters (LoRA, Hu et al. 2021, arXiv 2106.09685) inside a model, by PEFT; the base keeps its weights."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import regex
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from saccade.errors import UserError, missing_extra
from saccade.models.low_rank import PEFT_PREFIX, AdaptedWeights, LowRank, has_adapter
from saccade.plain_files import plain_text

if TYPE_CHECKING:
    from peft import LoraConfig
    from transformers import PreTrainedModel

    from saccade.models.families.family import Family
    from saccade.models.vlm import VisionLanguageModel

ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
_NAME = "default"
_MATCH_S = 10.0
"""Time in which an expression must match the path of a layer; those that do take microseconds."""
_NOT_OURS = ("use_rslora", "use_dora", "rank_pattern", "alpha_pattern", "lora_bias", "use_qalora", "target_parameters")
"""Fields of an adapter's configuration that change what it computes."""
DEFAULT_TARGETS = r".*language_model\..*_proj"


@dataclass(frozen=True, kw_only=True)
class LoraSettings:
    """Which linear layers get an adapter: their output becomes W x + alpha / rank * B A x (equation 3).

    There is no dropout: the policy that is trained must be the one that sampled.
    """

    rank: int = 16
    alpha: float = 32.0
    """Weight of the adapter, whatever its rank is: its output is multiplied by alpha / rank."""
    targets: str = DEFAULT_TARGETS
    """Regular expression for the whole path of a linear layer; the default takes all of the language model's, but for
    those of two numbers a head in recurrent layers."""
    seed: int = 0
    """Seed of the first values of A; those of B are zero, so that a new adapter changes nothing."""

    def fits(self, other: "LoraSettings") -> bool:
        """Whether an adapter with these settings can be trained on with the others."""
        return (self.rank, self.alpha, self.targets) == (other.rank, other.alpha, other.targets)

    def inside(self, family: "Family") -> "LoraSettings":
        """The settings for a model of this family: ``language_model`` in targets means the name that it has there."""
        targets = self.targets + (family.more_projections if self.targets == DEFAULT_TARGETS else "")
        return replace(self, targets=targets.replace("language_model", family.language.rpartition(".")[2]))

    def check(self) -> None:
        if self.rank < 1:
            raise UserError(f"rank={self.rank} must be 1 or more (8 to 64 is usual)")
        if not 0 < self.alpha < float("inf"):
            raise UserError(f"alpha={self.alpha} must be a finite number above 0 (twice the rank is usual)")
        try:
            re.compile(self.targets)
        except re.error as error:
            raise UserError(f"targets={self.targets!r} is no regular expression: {error}") from error


@dataclass(kw_only=True, eq=False)
class Adapter:
    """The adapter of a model: its settings, where its base is on disk, and how it was when the stage began."""

    settings: LoraSettings
    base: Path | None
    """Directory with the frozen weights; None until somebody writes them."""
    start: dict[str, Tensor] = field(default_factory=dict)
    """By parameter name; what ``reference_policy`` puts in place."""
    whole: tuple[str, ...] = ()
    """Modules whose own weights belong to the adapter; PEFT's ``modules_to_save``."""


def add_adapter(model: "VisionLanguageModel", settings: LoraSettings, *, whole: tuple[str, ...] = ()) -> None:
    """Puts a new adapter inside the model and freezes all else; module paths stay as they are.

    The adapter has fp32 weights whatever the base has, but for the modules that it has ``whole``. UserError when
    ``targets`` names no linear layer.
    """
    settings = settings.inside(model.family)
    names = adapted_layers(model, settings)
    wrong = [name for name in names if not isinstance(model.hf.get_submodule(name), nn.Linear)]
    if wrong or not names:
        linear = [name for name, module in model.hf.named_modules() if isinstance(module, nn.Linear)]
        found = f"also matches {wrong[0]}, which is no linear layer" if wrong else "matches no linear layer"
        raise UserError(f"lora.targets={settings.targets!r} {found}; a linear layer of this model is {linear[-2]}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        _inject(model.hf, settings, names)
    model.adapter = Adapter(settings=settings, base=model.source, whole=whole)
    if model.batch_invariant:
        from saccade.models.batch_invariant import make_batch_invariant

        make_batch_invariant(model)
    mark_start(model)


def adapted_layers(model: "VisionLanguageModel", settings: LoraSettings) -> list[str]:
    """The paths of the modules that ``targets`` matches."""
    return matching_names(settings.inside(model.family).targets, [name for name, _ in model.hf.named_modules()])


def matching_names(targets: str, names: Sequence[str]) -> list[str]:
    """The names that the expression matches; UserError where one takes for ever, as that of a stranger may."""
    try:
        return [name for name in names if regex.fullmatch(targets, name, timeout=_MATCH_S)]
    except TimeoutError:
        raise UserError(f"lora.targets={targets!r} is not matched within {_MATCH_S:g} s; write it simpler") from None
    except regex.error as error:
        raise UserError(f"lora.targets={targets!r} is no regular expression: {error}") from error


def adapter_parameters(model: "VisionLanguageModel") -> dict[str, nn.Parameter]:
    """The adapter's weights by name, those of modules that it has whole among them; all others are frozen."""
    inside = () if model.adapter is None else tuple(f"{name}." for name in model.adapter.whole)
    named = model.hf.named_parameters()
    return {name: weight for name, weight in named if ".lora_" in name or name.startswith(inside)}


def mark_start(model: "VisionLanguageModel") -> None:
    """Remembers the adapter as it is now as the policy that ``reference_policy`` gives."""
    adapter = _adapter_of(model)
    adapter.start = {name: weight.detach().clone() for name, weight in adapter_parameters(model).items()}


@contextmanager
def reference_policy(model: "VisionLanguageModel") -> Iterator[None]:
    """Inside, the model is the policy that the stage began with; a new adapter began as the base model.

    No second copy of the model exists: only the adapter's few weights are exchanged.
    """
    start = _adapter_of(model).start
    weights = adapter_parameters(model)
    current = {name: weight.detach().clone() for name, weight in weights.items()}
    try:
        _overwrite(weights, start)
        yield
    finally:
        _overwrite(weights, current)


def _overwrite(weights: Mapping[str, nn.Parameter], values: Mapping[str, Tensor]) -> None:
    # In place: a sharded module gathers from its own memory, and would not notice another tensor in a weight.
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(values[name])


def merge_adapter(model: "VisionLanguageModel") -> None:
    """Adds B A to the weights of the base and takes the adapter out: a plain model that needs no PEFT."""
    from saccade.models.eight_bit_linear import refuse_eight_bit

    _adapter_of(model)
    refuse_eight_bit(model.hf, "an adapter cannot be merged into them")
    _refuse_tied_below(model.hf)
    for name, layer in list(model.hf.named_modules()):
        if has_adapter(layer):
            layer.merge()
            model.hf.set_submodule(name, layer.get_base_layer())
    del model.hf.peft_config
    model.adapter, model.source = None, None


def base_state(model: "VisionLanguageModel") -> dict[str, Tensor]:
    """The weights below the adapter, under the names that they have without one."""
    start = _adapter_of(model).start
    return {name: start.get(name, weight) for name, weight in _own_state(model.hf).items()}


def _own_state(hf: "PreTrainedModel") -> dict[str, Tensor]:
    return {name.replace(".base_layer.", "."): w for name, w in hf.state_dict().items() if ".lora_" not in name}


def adapted_weights(model: "VisionLanguageModel") -> AdaptedWeights:
    """The weights of a model with an adapter, told apart; tensors are the model's own."""
    adapter, trained = _adapter_of(model), adapter_parameters(model)
    own = {id(weight) for weight in trained.values()}
    frozen = [one for one in (*model.hf.parameters(), *model.hf.buffers()) if id(one) not in own]
    return AdaptedWeights(
        base=(adapter, tuple(map(_state_of, frozen))),
        base_weights=lambda: each_once(_own_state(model.hf)),
        adapters=_low_ranks(model.hf),
        whole={name: weight.detach() for name, weight in trained.items() if ".lora_" not in name},
    )


def _state_of(weight: Tensor) -> tuple[int, int]:
    """Another one where it was written into, or has other memory."""
    return weight.data_ptr(), 0 if weight.is_inference() else weight._version


def merged_state(hf: "PreTrainedModel") -> dict[str, Tensor]:
    """All weights under the names that they have without an adapter, with B A added and rounded to the base's type."""
    adapters = _low_ranks(hf)
    state = _own_state(hf)
    return {name: adapters[name].added_to(one) if name in adapters else one for name, one in state.items()}


def _low_ranks(hf: "PreTrainedModel") -> dict[str, LowRank]:
    """The adapters by the name of the weight that each is added to; UserError where that is another's weight too."""
    _refuse_tied_below(hf)
    found: dict[str, LowRank] = {}
    for name, layer in hf.named_modules():
        if has_adapter(layer):
            down, up = (parts[_NAME].weight.detach() for parts in (layer.lora_A, layer.lora_B))
            found[f"{name}.weight"] = LowRank(down, up, float(layer.scaling[_NAME]))
    return found


def _refuse_tied_below(hf: "PreTrainedModel") -> None:
    """UserError for an adapter beside a weight that another module reads too: added to it, it would change both."""
    from saccade.models.chosen_weights import tied_names

    tied = tied_names(hf)
    for name, layer in hf.named_modules():
        if has_adapter(layer) and len(names := tied.get(id(layer.get_base_layer().weight), ())) > 1:
            raise UserError(
                f"the adapter of {name} cannot be added to its weight, which is {names[0]} too; sample with base and "
                "adapter in this process, or leave the layer out of lora.targets (Tinker: train_unembed=False)"
            )


def each_once(state: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """The weights of a state; of tied ones only the first is named."""
    seen: set[tuple[int, torch.Size]] = set()
    for name, weight in state.items():
        place = weight.data_ptr(), weight.shape
        if place not in seen:
            seen.add(place)
            yield name, weight.detach()


def save_adapter(model: "VisionLanguageModel", directory: Path) -> None:
    """``adapter_config.json`` and ``adapter_model.safetensors`` as PEFT writes them.

    A base beside the directory is named relative to it, so that both can be moved together.
    """
    adapter = _adapter_of(model)
    if adapter.base is None:
        raise ValueError("the base of the adapter is not saved on disk; save it and set adapter.base first")
    directory.mkdir(parents=True, exist_ok=True)
    is_beside = adapter.base.parent == directory.resolve().parent
    base = f"../{adapter.base.name}" if is_beside else str(adapter.base)
    config = _config(adapter.settings)
    config.modules_to_save = list(adapter.whole) or None
    config.base_model_name_or_path = base
    config.inference_mode = True
    config.save_pretrained(str(directory))
    # A field that PEFT does not know would be refused when the file is opened by others.
    save_file(adapter_tensors(model), directory / ADAPTER_WEIGHTS, metadata={"format": "pt"})


def adapter_tensors(model: "VisionLanguageModel") -> dict[str, Tensor]:
    """The adapter's own weights under the names that they have in its file."""
    return {_file_name(name): weight.detach().contiguous() for name, weight in adapter_parameters(model).items()}


def put_adapter(model: "VisionLanguageModel", tensors: Mapping[str, Tensor]) -> bool:
    """Overwrites the adapter with such weights; False, and nothing is changed, where they are another model's."""
    ours = adapter_parameters(model)
    if {_file_name(name): weight.shape for name, weight in ours.items()} != {n: w.shape for n, w in tensors.items()}:
        return False
    _overwrite(ours, {name: tensors[_file_name(name)] for name in ours})
    return True


def adapter_base(directory: Path) -> Path:
    """The base that an adapter directory names: a directory, or the hub's cache of a repository; nothing is fetched.

    UserError when its configuration is damaged or names none.
    """
    base = named_base(directory)
    beside = Path(os.path.normpath(directory.resolve() / base))
    return beside if beside.exists() else _in_cache(base) or beside


def named_base(directory: Path) -> str:
    """What an adapter directory calls its base. Raises as ``adapter_base``."""
    base = _read_config(directory).get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise UserError(f"{directory / ADAPTER_CONFIG} names no base_model_name_or_path; write the base there")
    return base


def _in_cache(name: str) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns="config.json", local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, OSError):
        return None


def load_adapter(model: "VisionLanguageModel", directory: Path) -> None:
    """Puts the adapter of a directory into its base, bit by bit as it was saved."""
    from saccade.models.chosen_weights import saved_holders

    values = _read_config(directory)
    if values.get("peft_type") != "LORA" or (odd := [name for name in _NOT_OURS if values.get(name)]):
        what = odd[0] if values.get("peft_type") == "LORA" else f"peft_type={values.get('peft_type')}"
        raise UserError(f"{directory} is an adapter with {what}; Saccade loads plain LoRA only; merge it with PEFT")
    try:
        settings = LoraSettings(
            rank=int(str(values["r"])), alpha=float(str(values["lora_alpha"])), targets=_targets(values)
        )
        settings.check()
        weights = load_file(directory / ADAPTER_WEIGHTS)
        whole = saved_holders(model.hf, _whole_modules(values))
    except (KeyError, ValueError, OSError, SafetensorError) as error:
        raise UserError(f"{directory} holds no adapter that can be loaded: {error}; copy it again") from error
    _refuse_tied(model, whole, directory)
    add_adapter(model, settings, whole=whole)
    if not put_adapter(model, weights):
        raise UserError(f"{directory / ADAPTER_WEIGHTS} is an adapter of another model than {adapter_base(directory)}")
    adapter = _adapter_of(model)
    adapter.base = adapter_base(directory)
    mark_start(model)


def _inject(hf: "PreTrainedModel", settings: LoraSettings, names: Sequence[str]) -> None:
    config = _config(settings)
    # The layers themselves, and not the expression, which PEFT would match without a limit.
    config.target_modules = {f"inside.{name}" for name in names}
    from peft import inject_adapter_in_model

    hf.requires_grad_(False)
    # Of a model whose type it sees PEFT takes every gate_proj for that of an expert in a checkpoint of long ago.
    around = inject_adapter_in_model(config, nn.ModuleDict({"inside": hf}), adapter_name=_NAME)
    hf.peft_config = around.peft_config
    for name, weight in hf.named_parameters():
        if ".lora_" in name:
            weight.data = weight.data.float()
    hf.eval()


def _config(settings: LoraSettings) -> "LoraConfig":
    try:
        from peft import LoraConfig
    except ImportError as error:
        raise missing_extra("lora", "peft", needed_for="LoRA") from error
    return LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=0.0,
        # As text, because PEFT writes a list in an order that changes from process to process.
        target_modules=settings.targets,
        task_type="CAUSAL_LM",
    )


def _read_config(directory: Path) -> dict[str, object]:
    try:
        values = json.loads(plain_text(directory / ADAPTER_CONFIG))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{directory / ADAPTER_CONFIG} cannot be read: {error}; copy the adapter again") from error
    if not isinstance(values, dict):
        raise UserError(f"{directory / ADAPTER_CONFIG} must hold a JSON object; copy the adapter again")
    return values


def _targets(values: dict[str, object]) -> str:
    """PEFT's ``target_modules``: a regular expression, or the ends of paths."""
    targets = values["target_modules"]
    if isinstance(targets, str):
        return targets
    if not isinstance(targets, list):
        raise ValueError(f"target_modules={targets!r} is neither text nor a list")
    return rf"(.*\.)?({'|'.join(re.escape(str(end)) for end in sorted(targets))})"


def _whole_modules(values: dict[str, object]) -> list[str]:
    """PEFT's ``modules_to_save``: the ends of paths."""
    ends = values.get("modules_to_save") or []
    if not isinstance(ends, list):
        raise ValueError(f"modules_to_save={ends!r} is no list")
    return [str(end) for end in ends]


def _refuse_tied(model: "VisionLanguageModel", whole: tuple[str, ...], directory: Path) -> None:
    """UserError where the adapter has one of two weights whole that are one in this model."""
    from saccade.models.chosen_weights import tied_names

    for names in tied_names(model.hf).values():
        if any(name.rpartition(".")[0] in whole for name in names):
            raise UserError(
                f"{directory} has {names[0]} whole, which is {names[-1]} too in this model, so that the two would be "
                "told apart; merge it with PEFT"
            )


def _file_name(parameter: str) -> str:
    return PEFT_PREFIX + parameter.replace(f".{_NAME}.", ".")


def _adapter_of(model: "VisionLanguageModel") -> Adapter:
    if model.adapter is None:
        raise ValueError("the model has no adapter; add one with add_adapter, or train with lora settings")
    return model.adapter
