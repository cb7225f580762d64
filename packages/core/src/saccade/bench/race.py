"""Drives frameworks through the same steps, one step each in turn, so that a busy machine hits all alike.

Frameworks that do not fit into memory together run one after the other.
"""

import importlib.util
import logging
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from saccade.bench.checkpoint import ModelSize, take_checkpoint, write_checkpoint
from saccade.bench.results import Agreement, BenchResult, FrameworkResult
from saccade.bench.script import check_script
from saccade.bench.worker import running_worker
from saccade.bench.workload import BenchSpec, DeviceName, DtypeName, FrameworkName, StepReport, Workload
from saccade.errors import MachineError, UserError, install_command, missing_extra
from saccade.models.checkpoint import MatmulPrecision

logger = logging.getLogger(__name__)

_TOLERANCE: Mapping[DtypeName, float] = {"float32": 1e-3, "bfloat16": 0.2}
"""Largest relative difference of gradients that rounding explains."""
_BYTES_PER_WEIGHT = 16
"""That a process takes at least: weights, gradients and two moments; with an adapter as much goes to activations."""


def race(
    workload: Workload,
    frameworks: Sequence[FrameworkName],
    *,
    model: ModelSize | Path,
    steps: int,
    threads: int = 1,
    device: DeviceName = "cpu",
    dtype: DtypeName | None = None,
    matmul_precision: MatmulPrecision = "highest",
    lora_rank: int | None = None,
    command: str = "",
    tell: Callable[[FrameworkName, StepReport], None] = lambda name, report: None,
) -> BenchResult:
    """``steps`` timed steps of each framework after one that warms up; ``dtype`` None is bf16 on a GPU, else fp32.

    ``model`` is a checkpoint, or a size to make a random one of; ``lora_rank`` None trains all weights. ``tell`` hears
    of each step as it ends. UserError when something is missing; MachineError when the frameworks did not do the same
    work.
    """
    workload.check()
    _check(frameworks, steps, device, lora_rank)
    precision = dtype or ("bfloat16" if device == "cuda" else "float32")
    with tempfile.TemporaryDirectory(prefix="saccade-bench-") as directory:
        spec = BenchSpec(
            workload=workload,
            directory=Path(directory),
            steps=steps + 1,
            threads=threads,
            device=device,
            dtype=precision,
            matmul_precision=matmul_precision,
            checkpoint=model.resolve() if isinstance(model, Path) else None,
            lora_rank=lora_rank,
        )
        spec, parameters = _with_model(spec, model)
        in_turns = _fit_together(parameters * len(frameworks), device)
        results = _run(spec, frameworks, in_turns=in_turns, tell=tell)
        agreements: dict[FrameworkName, Agreement] = {
            name: _agreement(spec, results, name) for name in results if name != "saccade" and "saccade" in results
        }
    for peer, agreement in agreements.items():
        check_agreement(peer, agreement, "bfloat16" if matmul_precision == "medium" else precision)
    return BenchResult(
        command=command,
        date=datetime.now(UTC).date().isoformat(),
        spec=spec,
        parameters=parameters,
        in_turns=in_turns,
        frameworks=results,
        agreements=agreements,
    )


def _check(frameworks: Sequence[FrameworkName], steps: int, device: DeviceName, lora_rank: int | None) -> None:
    if steps < 1:
        raise UserError(f"steps={steps} times nothing; use 1 or more")
    if "trl" in frameworks and importlib.util.find_spec("trl") is None:
        raise UserError(f"TRL is not installed; run {install_command('interop')}, or choose --framework saccade")
    if lora_rank is not None and importlib.util.find_spec("peft") is None:
        raise missing_extra("lora", "peft", needed_for="--lora")
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda, but torch sees no GPU here; use device=cpu")


def _with_model(spec: BenchSpec, model: ModelSize | Path) -> tuple[BenchSpec, int]:
    """The specification for the model, once it is there, and the number of its parameters."""
    if isinstance(model, Path):
        spec, parameters = take_checkpoint(spec)
    else:
        parameters = write_checkpoint(spec.model, model, device=spec.device, dtype=getattr(torch, spec.dtype))
    check_script(spec)
    # Without it 3 billion weights and their optimiser leave 80 GB no room for activations.
    return replace(spec, checkpointing=parameters > 1_000_000_000), parameters


def _fit_together(weights: int, device: DeviceName) -> bool:
    """Whether so many weights, of all frameworks, can be in memory at once."""
    if device == "cuda":
        return weights * _BYTES_PER_WEIGHT < torch.cuda.mem_get_info()[0]
    memory = Path("/proc/meminfo")
    if not memory.is_file():
        return True
    free_kib = next(int(line.split()[1]) for line in memory.read_text().splitlines() if line.startswith("MemAvailable"))
    return weights * _BYTES_PER_WEIGHT < free_kib * 1024


def _run(
    spec: BenchSpec,
    frameworks: Sequence[FrameworkName],
    *,
    in_turns: bool,
    tell: Callable[[FrameworkName, StepReport], None],
) -> dict[FrameworkName, FrameworkResult]:
    if not in_turns:
        return {
            name: result for one in frameworks for name, result in _run(spec, [one], in_turns=True, tell=tell).items()
        }
    with ExitStack() as stack:
        workers = [stack.enter_context(running_worker(framework, spec)) for framework in frameworks]
        ready = [worker.ready() for worker in workers]
        reports: list[list[StepReport]] = [[] for _ in workers]
        for step in range(spec.steps):
            # One at a time: two at work would take each other's caches and memory bandwidth.
            for worker, of_worker in zip(workers, reports):
                of_worker.append(worker.step())
                last = of_worker[-1]
                tell(worker.framework, last)
                logger.info(
                    "step %d of %s: %.2f s, %.2f s of processor time", step, worker.framework, last.wall_s, last.cpu_s
                )
    return {
        worker.framework: FrameworkResult(versions=hello.versions, resident_mb=hello.resident_mb, steps=tuple(steps))
        for worker, hello, steps in zip(workers, ready, reports)
    }


def _agreement(spec: BenchSpec, results: Mapping[FrameworkName, FrameworkResult], peer: FrameworkName) -> Agreement:
    pairs = list(zip(results["saccade"].steps, results[peer].steps))
    entropies = [(one.entropy, other.entropy) for one, other in pairs]
    return Agreement(
        same_tokens=all(one.trained_on == other.trained_on for one, other in pairs),
        gradient_error=gradient_error(spec, peer),
        gradient_norm_error=max(abs(one.gradient_norm / other.gradient_norm - 1.0) for one, other in pairs),
        entropy_error=max((abs(one / other - 1.0) for one, other in entropies if one and other), default=None),
    )


def gradient_error(spec: BenchSpec, peer: FrameworkName) -> float:
    """Norm of the difference of the first step's gradients, over the norm of the peer's; of an adapter the larger one
    of its A and B, since gradients of A are far smaller and would not show beside those of B.

    MachineError when other parameters were trained.
    """
    ours, theirs = (load_file(spec.gradient_file(name)) for name in ("saccade", peer))
    if ours.keys() != theirs.keys():
        odd = sorted(ours.keys() ^ theirs.keys())[:3]
        raise MachineError(f"Saccade and {peer} trained different parameters: {odd}")
    kinds = {next((kind for kind in (".lora_A.", ".lora_B.") if kind in name), "") for name in theirs}
    return max(_relative_error(ours, theirs, [name for name in theirs if kind in name]) for kind in kinds)


def _relative_error(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor], names: Iterable[str]) -> float:
    pairs = [(ours[name].double(), theirs[name].double()) for name in names]
    difference = sum(float((one - other).square().sum()) for one, other in pairs)
    return math.sqrt(difference / sum(float(other.square().sum()) for _, other in pairs))


def check_agreement(peer: FrameworkName, agreement: Agreement, dtype: DtypeName) -> None:
    """MachineError when two frameworks did not do the same work, for then their times say nothing."""
    if not agreement.same_tokens:
        raise MachineError(f"Saccade and {peer} were not trained on the same tokens, so their times cannot be compared")
    if not agreement.gradient_error <= _TOLERANCE[dtype]:
        raise MachineError(
            f"the gradients of Saccade and {peer} differ by {agreement.gradient_error:.2g}, more than "
            f"{_TOLERANCE[dtype]:g}: they did not do the same work, so their times cannot be compared"
        )
