"""Everything that a machine with CUDA can say of Saccade, in parts of at most nine minutes each.

    make gpu                                                  # all parts, then a page of results
    python benchmarks/gpu.py --part learner --part engine     # some, beside what is there
    python benchmarks/gpu.py --device cpu --size tiny         # a rehearsal without a GPU: times say nothing

Each part is a command of its own (``gpu_parts.py``, ``saccade bench rl``, pytest), ended at its limit. After each
``OUT/gpu.json`` holds what was found, with the hardware, and ``OUT/gpu.md`` the same as a page; a part that ran before
is replaced. What cannot run here is listed with its reason.
"""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

LIMIT_S = 540
HERE = Path(__file__).parent
INSIDE = ("bf16", "engine", "deterministic", "learner", "memory", "offload", "compiled", "lora", "profile")
"""Parts of ``gpu_parts.py``."""


@dataclass(frozen=True, kw_only=True)
class Options:
    device: str
    size: str
    out: Path
    peak_tflops: float | None
    vllm_python: Path | None


@dataclass(frozen=True, kw_only=True)
class Part:
    """A command, or why there is none."""

    name: str
    command: Sequence[str] = ()
    figures: Path | None = None
    """Where the command writes JSON."""
    missing: str | None = None


def parts(options: Options) -> list[Part]:
    inside = [
        _inside(name, options, "7b" if name == "lora" and options.size == "3b" else options.size) for name in INSIDE
    ]
    return [_training(options), *inside, *_races(options), _one_rank(options), _vllm(options)]


def _inside(name: str, options: Options, size: str) -> Part:
    figures = options.out / f"{name}.json"
    command = [sys.executable, str(HERE / "gpu_parts.py"), name, "--device", options.device, "--size", size]
    command += ["--json", str(figures), "--checkpoint", str(options.out / f"checkpoint-{size}")]
    if options.peak_tflops is not None:
        command += ["--peak-tflops", str(options.peak_tflops)]
    return Part(name=name, command=command, figures=figures)


def _races(options: Options) -> list[Part]:
    """Saccade and TRL apart as well: where one does not fit, the other's time is still there."""
    size = "3b" if options.size == "3b" else "tiny"
    pixels = ("--image-px", "1024") if size == "3b" else ()
    made: list[Part] = []
    for framework in ("saccade", "both"):
        name = f"bench-rl-{framework}"
        figures = options.out / f"{name}.json"
        missing = None
        if framework == "both" and importlib.util.find_spec("trl") is None:
            missing = "TRL is not installed (pip install -e '.[trl]' in a clone)"
        command = [sys.executable, "-m", "saccade", "bench", "rl", "--framework", framework, "--device", options.device]
        command += ["--size", size, *pixels, "--steps", "2", "--json", str(figures)]
        made.append(Part(name=name, command=command, figures=figures, missing=missing))
    return made


def _training(options: Options) -> Part:
    """A run of the laptop's recipe on the device, with tools and sandbox as everywhere."""
    command = [
        sys.executable,
        "-m",
        "saccade",
        "train",
        "look_closer",
        "--out",
        str(options.out / f"look-{time.time_ns()}"),
    ]
    changed = (f"model.device={options.device}", "sft.steps=60", "rl.steps=5", "evaluation_tasks=64", "curve_tasks=64")
    return Part(name="train", command=[*command, "--quiet", *(word for one in changed for word in ("--set", one))])


def _one_rank(options: Options) -> Part:
    """The sharded learner on one rank, by the command that ``docs/scaling.md`` gives for a machine."""
    name = "fsdp2-one-rank"
    if importlib.util.find_spec("saccade.learner.processes") is None:
        return Part(name=name, missing="the sharded learner is not part of this version")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", "-m", "saccade"]
    command += ["train", "look_closer", "--out", str(options.out / f"run-{time.time_ns()}"), "--quiet"]
    changed = (f"model.device={options.device}", "model.dtype=bfloat16", "sft.steps=5", "rl.steps=2")
    few = ("rl.tasks_per_step=4", "evaluation_tasks=8", "curve_tasks=8")
    return Part(name=name, command=[*command, *(word for one in (*changed, *few) for word in ("--set", one))])


def _vllm(options: Options) -> Part:
    """vLLM beside the learner: the tests of its engine, which start a server on the device."""
    if options.vllm_python is None:
        return Part(name="vllm", missing="no environment with vLLM was named (--vllm-python PATH)")
    test = HERE.parent / "tests" / "engines" / "test_vllm_engine.py"
    if not test.is_file():
        return Part(name="vllm", missing="the vLLM engine is not part of this version")
    environment = f"SACCADE_VLLM_PYTHON={options.vllm_python}"
    command = ["env", environment, sys.executable, "-m", "pytest", "-n0", "-q", str(test)]
    return Part(name="vllm", command=command)


def run(part: Part, limit_s: float) -> dict[str, object]:
    """What a part said, how long it took, and how it ended."""
    if part.missing is not None:
        return {"status": "not run", "why": part.missing}
    if part.figures is not None:
        part.figures.unlink(missing_ok=True)
    started = time.monotonic()
    try:
        done = subprocess.run(part.command, capture_output=True, text=True, timeout=limit_s)
        ended = "done" if done.returncode == 0 else f"failed with status {done.returncode}"
        said = (done.stdout + done.stderr)[-3000:]
    except subprocess.TimeoutExpired as error:
        ended, said = f"ended at its limit of {limit_s:.0f} s", str(error.stdout or "")[-3000:]
    found: dict[str, object] = {
        "status": ended,
        "command": " ".join(part.command),
        "wall_s": round(time.monotonic() - started, 1),
    }
    if part.figures is not None and part.figures.is_file():
        found["figures"] = json.loads(part.figures.read_text())
    if ended != "done":
        found["output"] = said
    return found


def hardware(device: str) -> dict[str, object]:
    import torch

    found: dict[str, object] = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cpus": os.cpu_count(),
        "host_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "device": device,
    }
    if torch.cuda.is_available():
        gpu = torch.cuda.get_device_properties(0)
        found |= {"gpu": gpu.name, "gpus": torch.cuda.device_count(), "gpu_gib": round(gpu.total_memory / 2**30, 1)}
    return found


def page(results: dict[str, object]) -> str:
    """The results for a person."""
    machine, found = results["hardware"], results["parts"]
    assert isinstance(machine, dict)
    assert isinstance(found, dict)
    lines = ["# Saccade on a GPU", "", ", ".join(f"{name} {value}" for name, value in machine.items()), ""]
    if machine["device"] == "cpu":
        lines += ["**A rehearsal on a CPU: that the code runs is all that it says.**", ""]
    for name, row in found.items():
        lines += [f"## {name}: {row['status']}", ""]
        lines += [f"`{row['command']}`, {row['wall_s']} s" if "command" in row else str(row.get("why", "")), ""]
        figures = row.get("figures")
        if isinstance(figures, dict):
            lines += ["| | |", "|---|---|", *(f"| {key} | {_short(value)} |" for key, value in figures.items()), ""]
        if "output" in row:
            lines += ["```", str(row["output"]).strip()[-1500:], "```", ""]
    return "\n".join(lines)


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    text = json.dumps(value) if isinstance(value, dict | list) else str(value)
    return text if len(text) < 300 else f"{text[:300]} ..."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/gpu"))
    parser.add_argument("--part", action="append", help="Run this one; repeatable. By default all.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--size", choices=["tiny", "0.5b", "3b"], default="3b")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="Seconds of a part.")
    parser.add_argument("--peak-tflops", type=float, help="Of the GPU in bf16, where its name is not known here.")
    parser.add_argument("--vllm-python", type=Path, help="Python of an environment with vLLM.")
    given = parser.parse_args()
    options = Options(
        device=given.device,
        size=given.size,
        out=given.out,
        peak_tflops=given.peak_tflops,
        vllm_python=given.vllm_python,
    )
    import torch

    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch sees no GPU here; rehearse with --device cpu --size tiny")
    known = parts(options)
    if unknown := set(given.part or ()) - {part.name for part in known}:
        sys.exit(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(part.name for part in known)}")
    options.out.mkdir(parents=True, exist_ok=True)
    record = options.out / "gpu.json"
    found = json.loads(record.read_text())["parts"] if given.part and record.is_file() else {}
    for part in known:
        if given.part and part.name not in given.part:
            continue
        print(f"{part.name} ...", flush=True)
        found[part.name] = run(part, given.limit)
        print(f"{part.name}: {found[part.name]['status']}", flush=True)
        results: dict[str, object] = {"hardware": hardware(options.device), "parts": found}
        record.write_text(json.dumps(results, indent=1) + "\n")
        (options.out / "gpu.md").write_text(page(results))
    failed = [name for name, row in found.items() if row["status"] not in ("done", "not run")]
    print(f"{record} and {options.out / 'gpu.md'}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
