"""Everything that a machine with CUDA can say of Saccade, in scripts of at most four minutes each.

    make gpu                                                  # the scripts, most valuable first
    python benchmarks/gpu.py --script race                    # one of them: learner, utilisation, race, determinism
    python benchmarks/gpu.py --part memory --part engine      # some parts, beside what is there
    python benchmarks/gpu.py --device cpu --size tiny         # a rehearsal without a GPU: times say nothing

A script is some parts that share its minutes. Each part is a command of its own (``gpu_parts.py``, ``gpu_run.py``,
``saccade bench rl``, pytest) that writes its figures as they come, and is ended at its limit. After each
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

LIMIT_S, SHORTEST_S = 240, 5
HERE = Path(__file__).parent
INSIDE = (
    *("learner", "profile", "attention", "waits", "activations", "fp8"),
    *("repeats", "engine", "sampling", "memory", "offload", "compiled", "lora"),
)
"""Parts of ``gpu_parts.py``."""
SCRIPTS = {
    "learner": ("learner", "profile"),
    "race": ("bench-rl-both", "bench-rl-saccade"),
    "determinism": ("run-once", "run-again", "repeats"),
    "utilisation": ("attention", "waits", "activations", "fp8"),
}
"""Most valuable first: three of them fit a quarter of an hour."""


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
    runs = [_deterministic_run(options, name) for name in ("run-once", "run-again")]
    return [*inside, *_races(options), *runs, _training(options), _one_rank(options), _vllm(options)]


def _inside(name: str, options: Options, size: str) -> Part:
    figures = options.out / f"{name}.json"
    command = [sys.executable, str(HERE / "gpu_parts.py"), name, "--device", options.device, "--size", size]
    command += ["--json", str(figures), "--checkpoint", str(options.out / f"checkpoint-{size}")]
    if options.peak_tflops is not None:
        command += ["--peak-tflops", str(options.peak_tflops)]
    return Part(name=name, command=command, figures=figures)


def _races(options: Options) -> list[Part]:
    """Both on the same tokens, one after the other where they do not fit together; Saccade alone without TRL."""
    size = "3b" if options.size == "3b" else "tiny"
    pixels = ("--image-px", "1024") if size == "3b" else ()
    made: list[Part] = []
    for framework in ("both", "saccade"):
        name = f"bench-rl-{framework}"
        figures = options.out / f"{name}.json"
        has_trl, missing = importlib.util.find_spec("trl") is not None, None
        if framework == "both" and not has_trl:
            missing = "TRL is not installed (pip install -e '.[interop]' in a clone)"
        elif framework == "saccade" and has_trl:
            missing = "bench-rl-both has its times"
        command = [sys.executable, "-m", "saccade", "bench", "rl", "--framework", framework, "--device", options.device]
        command += ["--size", size, *pixels, "--steps", "2", "--json", str(figures)]
        made.append(Part(name=name, command=command, figures=figures, missing=missing))
    return made


def _deterministic_run(options: Options, name: str) -> Part:
    """A multi-turn run with pictures in the exact mode; ``main`` compares the hashes of two."""
    out, figures = options.out / f"{name}-{time.time_ns()}", options.out / f"{name}.json"
    command = [sys.executable, str(HERE / "gpu_run.py"), "--out", str(out), "--json", str(figures)]
    return Part(name=name, command=[*command, "--device", options.device], figures=figures)


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
    if limit_s < SHORTEST_S:
        return {"status": "not run", "why": "the minutes of its script were over"}
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


def same_twice(found: Mapping[str, object]) -> dict[str, bool] | None:
    """Which hashes of both runs are equal; None before both are there."""
    figures = [row.get("figures") for name in ("run-once", "run-again") if isinstance(row := found.get(name), dict)]
    match figures:
        case [dict() as once, dict() as again]:
            return {name: one == again.get(name) for name, one in once.items() if name.endswith("sha256")}
    return None


def page(results: dict[str, object]) -> str:
    """The results for a person."""
    machine, found = results["hardware"], results["parts"]
    assert isinstance(machine, dict)
    assert isinstance(found, dict)
    lines = ["# Saccade on a GPU", "", ", ".join(f"{name} {value}" for name, value in machine.items()), ""]
    lines += [f"The same bytes twice: {results['same bytes twice']}", ""]
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
    parser.add_argument("--script", action="append", choices=SCRIPTS, help="Repeatable. By default all.")
    parser.add_argument("--part", action="append", help="Run this one and no script; repeatable.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--size", choices=["tiny", "0.5b", "3b"], default="3b")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="Seconds of a script, or of a part by itself.")
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
    found = json.loads(record.read_text())["parts"] if record.is_file() else {}
    machine, by_name = hardware(options.device), {part.name: part for part in known}
    groups = [[name] for name in given.part or ()] or [SCRIPTS[name] for name in given.script or SCRIPTS]
    for names in groups:
        ends = time.monotonic() + given.limit
        for name in names:
            print(f"{name} ...", flush=True)
            found[name] = run(by_name[name], ends - time.monotonic())
            print(f"{name}: {found[name]['status']}", flush=True)
            results: dict[str, object] = {"hardware": machine, "same bytes twice": same_twice(found), "parts": found}
            record.write_text(json.dumps(results, indent=1) + "\n")
            (options.out / "gpu.md").write_text(page(results))
    ran = [name for names in groups for name in names]
    failed = [name for name in ran if found[name]["status"] not in ("done", "not run")]
    print(f"{record} and {options.out / 'gpu.md'}" + (f"; failed: {', '.join(failed)}" if failed else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
