"""Drives frameworks through the same steps, one step each in turn, so that a busy machine hits all alike."""

import importlib.util
import logging
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import torch
from safetensors.torch import load_file

from saccade.bench.checkpoint import ModelSize, write_checkpoint
from saccade.bench.results import Agreement, BenchResult, FrameworkResult
from saccade.bench.worker import running_worker
from saccade.bench.workload import BenchSpec, DeviceName, DtypeName, FrameworkName, StepReport, Workload
from saccade.errors import MachineError, UserError, install_command

logger = logging.getLogger(__name__)

_TOLERANCE: Mapping[DtypeName, float] = {"float32": 1e-3, "bfloat16": 0.2}
"""Largest relative difference of gradients that rounding explains."""


def race(
    workload: Workload,
    frameworks: Sequence[FrameworkName],
    *,
    size: ModelSize,
    steps: int,
    threads: int = 1,
    device: DeviceName = "cpu",
    dtype: DtypeName | None = None,
    command: str = "",
) -> BenchResult:
    """``steps`` timed steps of each framework after one that warms up; ``dtype`` None is bf16 on a GPU, else fp32.

    UserError when something is missing; MachineError when the frameworks did not do the same work.
    """
    workload.check()
    _check(frameworks, steps, device)
    precision = dtype or ("bfloat16" if device == "cuda" else "float32")
    with tempfile.TemporaryDirectory(prefix="saccade-bench-") as directory:
        spec = BenchSpec(
            workload=workload,
            directory=Path(directory),
            steps=steps + 1,
            threads=threads,
            device=device,
            dtype=precision,
        )
        parameters = write_checkpoint(spec.model, size, device=device, dtype=getattr(torch, precision))
        # Without it 3 billion weights and their optimiser leave 80 GB no room for activations.
        spec = replace(spec, checkpointing=parameters > 1_000_000_000)
        results = _run(spec, frameworks)
        agreement = _agreement(spec, results) if len(results) > 1 else None
    if agreement is not None:
        check_agreement(agreement, precision)
    return BenchResult(
        command=command,
        date=datetime.now(UTC).date().isoformat(),
        workload=workload,
        parameters=parameters,
        threads=threads,
        device=device,
        dtype=precision,
        frameworks=results,
        agreement=agreement,
    )


def _check(frameworks: Sequence[FrameworkName], steps: int, device: DeviceName) -> None:
    if steps < 1:
        raise UserError(f"steps={steps} times nothing; use 1 or more")
    if "trl" in frameworks and importlib.util.find_spec("trl") is None:
        raise UserError(f"TRL is not installed; run {install_command('interop')}, or choose --framework saccade")
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda, but torch sees no GPU here; use device=cpu")


def _run(spec: BenchSpec, frameworks: Sequence[FrameworkName]) -> dict[FrameworkName, FrameworkResult]:
    with ExitStack() as stack:
        workers = [stack.enter_context(running_worker(framework, spec)) for framework in frameworks]
        ready = [worker.ready() for worker in workers]
        reports: list[list[StepReport]] = [[] for _ in workers]
        for step in range(spec.steps):
            # One at a time: two at work would take each other's caches and memory bandwidth.
            for worker, of_worker in zip(workers, reports):
                of_worker.append(worker.step())
                logger.info("step %d of %s: %.2f s", step, worker.framework, of_worker[-1].wall_s)
    return {
        worker.framework: FrameworkResult(versions=hello.versions, resident_mb=hello.resident_mb, steps=tuple(steps))
        for worker, hello, steps in zip(workers, ready, reports)
    }


def _agreement(spec: BenchSpec, results: Mapping[FrameworkName, FrameworkResult]) -> Agreement:
    pairs = list(zip(results["saccade"].steps, results["trl"].steps))
    ours, theirs = (load_file(spec.gradient_file(name)) for name in ("saccade", "trl"))
    if ours.keys() != theirs.keys():
        raise MachineError(f"the frameworks trained different parameters: {sorted(ours.keys() ^ theirs.keys())[:3]}")
    difference = sum(float((ours[name].double() - theirs[name].double()).square().sum()) for name in theirs)
    size = sum(float(gradient.double().square().sum()) for gradient in theirs.values())
    return Agreement(
        same_tokens=all(one.trained_on == other.trained_on for one, other in pairs),
        gradient_error=(difference / size) ** 0.5,
        gradient_norm_error=max(abs(one.gradient_norm / other.gradient_norm - 1.0) for one, other in pairs),
        entropy_error=max(abs(one.entropy / other.entropy - 1.0) for one, other in pairs),
    )


def check_agreement(agreement: Agreement, dtype: DtypeName) -> None:
    """MachineError when two frameworks did not do the same work, for then their times say nothing."""
    if not agreement.same_tokens:
        raise MachineError("the frameworks were not trained on the same tokens, so their times cannot be compared")
    if not agreement.gradient_error <= _TOLERANCE[dtype]:
        raise MachineError(
            f"the frameworks' gradients differ by {agreement.gradient_error:.2g}, more than {_TOLERANCE[dtype]:g}: "
            "they did not do the same work, so their times cannot be compared"
        )
