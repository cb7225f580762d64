"""Results of a benchmark: for a person as a table, for a program as JSON."""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from saccade.bench.measuring import StepWork
from saccade.bench.workload import BenchSpec, FrameworkName, StepReport
from saccade.codec.codecs import plain_json
from saccade.errors import UserError
from saccade.types import Json

_ROWS = (
    ("images preprocessed", "images_preprocessed"),
    ("images encoded, rollout", "images_encoded_rollout"),
    ("images encoded, training", "images_encoded_training"),
    ("tokens prefilled", "tokens_prefilled"),
    ("tokens decoded", "tokens_decoded"),
    ("tokens trained", "tokens_trained"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FrameworkResult:
    """All steps of one framework; the first warmed up and does not count."""

    versions: Mapping[str, str]
    resident_mb: float
    """Largest resident set before the first step."""
    steps: tuple[StepReport, ...]

    @property
    def cpu_s_min(self) -> float:
        return min(step.cpu_s for step in self.steps[1:])

    @property
    def training_cpu_s_min(self) -> float:
        return min(step.training_cpu_s for step in self.steps[1:])

    @property
    def wall_s_min(self) -> float:
        return min(step.wall_s for step in self.steps[1:])

    @property
    def work(self) -> StepWork:
        """Work of one step; all steps do the same."""
        return self.steps[-1].work

    @property
    def peak_mb(self) -> float:
        return self.steps[-1].peak_mb

    def as_json(self) -> Mapping[str, Json]:
        return {
            "versions": dict(self.versions),
            "cpu_s_min": self.cpu_s_min,
            "wall_s_min": self.wall_s_min,
            "training_cpu_s_min": self.training_cpu_s_min,
            "cpu_s": [step.cpu_s for step in self.steps],
            "wall_s": [step.wall_s for step in self.steps],
            "work": plain_json(self.work),
            "resident_mb": self.resident_mb,
            "peak_mb": self.peak_mb,
            "gradient_norm": [step.gradient_norm for step in self.steps],
            "entropy": [step.entropy for step in self.steps],
            "trained_on": [step.trained_on for step in self.steps],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """How far two frameworks did the same: the tokens must be equal, the numbers equal up to rounding."""

    same_tokens: bool
    """Every step of both was on the same sequences with the same tokens chosen by the model."""
    gradient_error: float
    """Norm of the difference of the first step's clipped gradients, over the norm of the peer's; of an adapter the
    larger one of its A and B."""
    gradient_norm_error: float
    """Largest relative difference of gradient norms over all steps."""
    entropy_error: float | None
    """Largest relative difference of mean entropies over all steps; None where a peer has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchResult:
    """One run of the benchmark."""

    command: str
    date: str
    spec: BenchSpec
    parameters: int
    in_turns: bool
    """Whether the frameworks took their steps by turns, and not all steps of one before those of the next."""
    frameworks: Mapping[FrameworkName, FrameworkResult]
    agreements: Mapping[FrameworkName, Agreement]
    """Of each peer with Saccade; none when only one framework ran."""

    def speedups(self, peer: FrameworkName) -> Mapping[str, float]:
        """A peer's times over ours; without a rollout there is only the training to compare."""
        ours, theirs = self.frameworks["saccade"], self.frameworks[peer]
        training = {"training_cpu": theirs.training_cpu_s_min / ours.training_cpu_s_min}
        if peer == "plain":
            return training
        return {"cpu": theirs.cpu_s_min / ours.cpu_s_min, "wall": theirs.wall_s_min / ours.wall_s_min, **training}

    def as_json(self) -> Mapping[str, Json]:
        return {
            "command": self.command,
            "date": self.date,
            "hardware": hardware(),
            "workload": asdict(self.spec.workload),
            "parameters": self.parameters,
            "lora_rank": self.spec.lora_rank,
            "in_turns": self.in_turns,
            "threads": self.spec.threads,
            "device": self.spec.device,
            "dtype": self.spec.dtype,
            "matmul_precision": self.spec.matmul_precision,
            "unique_work": plain_json(self.spec.workload.unique_work),
            "frameworks": {name: dict(result.as_json()) for name, result in self.frameworks.items()},
            "agreement": {peer: asdict(found) for peer, found in self.agreements.items()},
            "speedup": {peer: dict(self.speedups(peer)) for peer in self.agreements},
        }

    def table(self) -> Table:
        """A column for each framework, beside the work that is there to do."""
        spec, shown = self.spec, self.spec.workload
        trained = f"LoRA {spec.lora_rank}" if spec.lora_rank else "all trained"
        title = (
            f"{shown.name}: {shown.prompts} prompts x {shown.group_size}, {shown.turns} x {shown.turn_tokens} tokens, "
            f"{self.parameters / 1e6:.2f} M parameters, {trained}, {spec.threads} thread{'s' * (spec.threads > 1)}, "
            f"{spec.device}, {spec.dtype}{', bf16 factors' * (spec.matmul_precision == 'medium')}"
        )
        table = Table(title=title, caption=self._caption())
        table.add_column("per step")
        for name in self.frameworks:
            table.add_column(name, justify="right")
        table.add_column("unique", justify="right")
        results = list(self.frameworks.values())
        table.add_row("CPU time, best (s)", *(f"{one.cpu_s_min:.2f}" for one in results), "")
        table.add_row("CPU time of the training, best (s)", *(f"{one.training_cpu_s_min:.2f}" for one in results), "")
        table.add_row("wall-clock time, best (s)", *(f"{one.wall_s_min:.2f}" for one in results), "")
        unique = plain_json(shown.unique_work)
        for label, key in _ROWS:
            table.add_row(label, *(f"{plain_json(one.work)[key]:,}" for one in results), f"{unique[key]:,}")
        table.add_row("peak memory (MiB)", *(f"{one.peak_mb:,.0f}" for one in results), "")
        table.add_row("before the first step (MiB)", *(f"{one.resident_mb:,.0f}" for one in results), "")
        return table

    def _caption(self) -> str:
        if not self.agreements:
            return "one framework ran; nothing was compared"
        order = [] if self.in_turns else ["The frameworks ran one after the other: together they need too much memory."]
        return "\n".join([*order, *(self._comparison(peer) for peer in self.agreements)])

    def _comparison(self, peer: FrameworkName) -> str:
        times, found = self.speedups(peer), self.agreements[peer]
        labels = {"cpu": "CPU time", "wall": "wall-clock time", "training_cpu": "CPU time of the training"}
        return (
            f"{peer} takes {', '.join(f'{times[key]:.2f} times our {labels[key]}' for key in times)}. Same tokens: "
            f"{'yes' if found.same_tokens else 'NO'}; gradients differ by {found.gradient_error:.1e}, their norms by "
            f"{found.gradient_norm_error:.1e}"
            + ("" if found.entropy_error is None else f", entropies by {found.entropy_error:.1e}")
            + " (relative)"
        )


def write_figures(figures: Json, file: Path) -> None:
    """As JSON, with the folder of the file made where needed; UserError when it cannot be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(figures, indent=2) + "\n")
    except OSError as error:
        raise UserError(f"{file} cannot be written ({error.strerror}); choose another place") from error


def hardware() -> Mapping[str, Json]:
    """The processor by name, its cores, and the system."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
