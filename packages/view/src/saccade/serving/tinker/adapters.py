"""Adapters that clients train and sample with: what they are, and the directories in which they are saved."""

import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from saccade.atomic import write_json_atomic
from saccade.errors import UserError
from saccade.learner.learner import Learner
from saccade.models.checkpoint import TRAINER_PREFIX
from saccade.models.lora import ADAPTER_WEIGHTS, LoraSettings, adapter_tensors
from saccade.models.vlm import VisionLanguageModel
from saccade.parsing import json_value
from saccade.plain_files import check_plain, plain_bytes
from saccade.types import Json

RECORD = "tinker.json"
ALPHA = 32.0
"""Of every adapter, as at Tinker, whatever its rank."""
_HEAD = "lm_head"
_MOST_RANK = 1024
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_PATH = re.compile(r"tinker://([A-Za-z0-9:_-]{1,100})/(weights|sampler_weights)/(" + _NAME.pattern + ")")


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterPlan:
    """A client's ``lora_config``."""

    rank: int
    train_attn: bool = True
    train_mlp: bool = True
    train_unembed: bool = True
    seed: int = 0

    @classmethod
    def of(cls, config: Json) -> "AdapterPlan":
        """UserError for one that is none."""
        if not isinstance(config, dict):
            raise UserError("lora_config is missing: this server trains adapters alone; ask for a LoRA training client")
        rank, seed = config.get("rank"), config.get("seed")
        if type(rank) is not int or not 1 <= rank <= _MOST_RANK:
            raise UserError(f"lora_config has rank={str(rank)[:20]}; it must be a whole number of 1 to {_MOST_RANK}")
        parts = {name: config.get(name, True) is not False for name in ("train_attn", "train_mlp", "train_unembed")}
        return cls(rank=rank, seed=seed & 0x7FFFFFFF if type(seed) is int else secrets.randbits(31), **parts)

    def settings(self, model: VisionLanguageModel) -> LoraSettings:
        """Layers by their names in this model; UserError where none is left."""
        every = LoraSettings().inside(model.family).targets
        parts = [name for name, on in (("attn", self.train_attn), ("mlp", self.train_mlp)) if on]
        layers = every if len(parts) == 2 else rf"(?=.*({'|'.join(parts)}))({every})"
        targets = [layers] * bool(parts) + [_HEAD] * self.train_unembed
        if not targets:
            raise UserError("lora_config trains nothing; set train_attn, train_mlp or train_unembed")
        return LoraSettings(rank=self.rank, alpha=ALPHA, targets="|".join(targets), seed=self.seed)


@dataclass(frozen=True, kw_only=True, slots=True)
class AdapterWeights:
    """An adapter as it was when it was saved; nothing changes its tensors."""

    plan: AdapterPlan
    tensors: Mapping[str, Tensor]

    @classmethod
    def of(cls, plan: AdapterPlan, model: VisionLanguageModel) -> "AdapterWeights":
        return cls(plan=plan, tensors={name: one.clone() for name, one in adapter_tensors(model).items()})


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedAdapter:
    """A directory, by its ``tinker://`` path."""

    run: str
    kind: str
    name: str

    @classmethod
    def at(cls, path: object) -> "SavedAdapter":
        """UserError for a path of another form."""
        found = _PATH.fullmatch(path) if isinstance(path, str) else None
        if found is None:
            raise UserError(f"path={str(path)[:80]!r} must be tinker://RUN/weights/NAME or .../sampler_weights/NAME")
        return cls(run=found[1], kind=found[2], name=found[3])

    @classmethod
    def named(cls, run: str, kind: str, name: object) -> "SavedAdapter":
        """UserError for a name that is no plain one of a file."""
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise UserError(
                f"name {str(name)[:60]!r} of a checkpoint must be up to 100 letters, digits, '.', '_' or '-'"
            )
        return cls(run=run, kind=kind, name=name)

    @property
    def path(self) -> str:
        return f"tinker://{self.run}/{self.kind}/{self.name}"

    def directory(self, root: Path) -> Path:
        return root / self.run.replace(":", "-") / self.kind / self.name

    def record(self, root: Path) -> dict[str, Json]:
        """What ``save`` wrote; UserError where there is no such checkpoint."""
        try:
            record = json_value(plain_bytes(self.directory(root) / RECORD))
        except (OSError, ValueError):
            record = None
        if not isinstance(record, dict):
            raise UserError(f"there is no checkpoint {self.path} here; see the names that saving gave")
        return record

    def weights(self, root: Path) -> AdapterWeights:
        """UserError where there is none, or its file is damaged."""
        plan = AdapterPlan.of(self.record(root).get("lora_config"))
        try:
            return AdapterWeights(plan=plan, tensors=load_file(check_plain(self.directory(root) / ADAPTER_WEIGHTS)))
        except (OSError, SafetensorError) as error:
            raise UserError(f"{self.path} cannot be read: {error}; save it again") from error

    def save(self, root: Path, learner: Learner, plan: AdapterPlan, told: Mapping[str, Json], *, whole: bool) -> None:
        """The adapter as a checkpoint that every command of Saccade takes, and with ``whole`` the optimiser's state."""
        directory = self.directory(root)
        directory.mkdir(parents=True, exist_ok=True)
        # Without its record it is no checkpoint yet, whatever was there.
        (directory / RECORD).unlink(missing_ok=True)
        learner.model.save(directory)
        if whole:
            (directory / TRAINER_PREFIX).mkdir(exist_ok=True)
            learner.save_state(directory / TRAINER_PREFIX)
        record = {**told, "lora_config": asdict(plan), "tinker_path": self.path, "time": time.time()}
        write_json_atomic(directory / RECORD, record)
