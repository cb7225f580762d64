"""Results of a benchmark: for a person as a table, for a program as JSON."""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from saccade.bench.measuring import StepWork
from saccade.bench.workload import DeviceName, DtypeName, FrameworkName, StepReport, Workload
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
    """Norm of the difference of the first step's clipped gradients, over the norm of TRL's."""
    gradient_norm_error: float
    """Largest relative difference of gradient norms over all steps."""
    entropy_error: float
    """Largest relative difference of mean entropies over all steps."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchResult:
    """One run of the benchmark."""

    command: str
    date: str
    workload: Workload
    parameters: int
    threads: int
    device: DeviceName
    dtype: DtypeName
    frameworks: Mapping[FrameworkName, FrameworkResult]
    agreement: Agreement | None
    """None when only one framework ran."""

    @property
    def speedup_cpu(self) -> float | None:
        """TRL's time on the processor over ours."""
        return self.frameworks["trl"].cpu_s_min / self.frameworks["saccade"].cpu_s_min if self.agreement else None

    @property
    def speedup_wall(self) -> float | None:
        return self.frameworks["trl"].wall_s_min / self.frameworks["saccade"].wall_s_min if self.agreement else None

    def as_json(self) -> Mapping[str, Json]:
        return {
            "command": self.command,
            "date": self.date,
            "hardware": hardware(),
            "workload": asdict(self.workload),
            "parameters": self.parameters,
            "threads": self.threads,
            "device": self.device,
            "dtype": self.dtype,
            "unique_work": plain_json(self.workload.unique_work),
            "frameworks": {name: dict(result.as_json()) for name, result in self.frameworks.items()},
            "agreement": asdict(self.agreement) if self.agreement else None,
            "speedup_cpu": self.speedup_cpu,
            "speedup_wall": self.speedup_wall,
        }

    def table(self) -> Table:
        """A column for each framework, beside the work that is there to do."""
        shown = self.workload
        title = (
            f"{shown.name}: {shown.prompts} prompts x {shown.group_size}, {shown.turns} x {shown.turn_tokens} tokens, "
            f"{self.parameters / 1e6:.2f} M parameters, {self.threads} thread{'s' * (self.threads > 1)}, "
            f"{self.device}, {self.dtype}"
        )
        table = Table(title=title, caption=self._caption())
        table.add_column("per step")
        for name in self.frameworks:
            table.add_column(name, justify="right")
        table.add_column("unique", justify="right")
        results = list(self.frameworks.values())
        table.add_row("CPU time, best (s)", *(f"{one.cpu_s_min:.2f}" for one in results), "")
        table.add_row("wall-clock time, best (s)", *(f"{one.wall_s_min:.2f}" for one in results), "")
        unique = plain_json(shown.unique_work)
        for label, key in _ROWS:
            table.add_row(label, *(f"{plain_json(one.work)[key]:,}" for one in results), f"{unique[key]:,}")
        table.add_row("peak memory (MiB)", *(f"{one.peak_mb:,.0f}" for one in results), "")
        table.add_row("before the first step (MiB)", *(f"{one.resident_mb:,.0f}" for one in results), "")
        return table

    def _caption(self) -> str:
        if self.agreement is None or self.speedup_cpu is None or self.speedup_wall is None:
            return "one framework ran; nothing was compared"
        return (
            f"{self.speedup_cpu:.2f} times less CPU time, {self.speedup_wall:.2f} times less wall-clock time. Same "
            f"tokens: {'yes' if self.agreement.same_tokens else 'NO'}; gradients differ by "
            f"{self.agreement.gradient_error:.1e}, their norms by {self.agreement.gradient_norm_error:.1e}, "
            f"entropies by {self.agreement.entropy_error:.1e} (relative)"
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
