"""What passes between the driver and a framework's process."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from saccade.bench.work import StepWork
from saccade.bench.workload import Workload

FrameworkName = Literal["saccade", "trl"]
DeviceName = Literal["cpu", "cuda"]
DtypeName = Literal["float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchSpec:
    """Specification of a benchmark, sent to every framework's process."""

    workload: Workload
    directory: Path
    """Holds ``model/``; gradients of the first step are left here."""
    steps: int
    """All steps, the first included, which warms up and is compared but not timed."""
    threads: int
    device: DeviceName
    dtype: DtypeName = "float32"
    """In half precision both frameworks train fp32 weights."""
    learning_rate: float = 1e-6
    micro_batch_sequences: int = 8
    """Trajectories that a framework without packing forwards at once."""

    @property
    def model(self) -> Path:
        return self.directory / "model"

    def gradient_file(self, framework: FrameworkName) -> Path:
        return self.directory / f"gradient_{framework}.safetensors"


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """One step as a framework's process saw it."""

    step: int
    wall_s: float
    cpu_s: float
    """CPU time of all threads of the process."""
    work: StepWork
    gradient_norm: float
    """Before clipping."""
    entropy: float
    """Mean over the sampled tokens, in nats."""
    trained_on: str
    """SHA-256 over the sorted sequences of the step: their ids, and which of them the model chose."""
    peak_mb: float
    """Largest resident set of the process so far, or the largest allocation on a GPU."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """A process that has loaded its framework and its model."""

    versions: Mapping[str, str]
    resident_mb: float
    """Largest resident set before the first step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PeerFailed:
    """A process that had to give up."""

    why: str


PeerReply = Ready | StepReport | PeerFailed


class Channel(Protocol):
    """A framework's end of the pipe; ``multiprocessing`` provides it."""

    def send(self, answer: PeerReply, /) -> None: ...

    def recv(self) -> Literal["step", "stop"]: ...
