"""One ``saccade train look_closer --deterministic`` of ``gpu.py``: hashes of what it leaves, its mismatch, its seconds.

python benchmarks/gpu_run.py --device cuda --out runs/one --json one.json
"""

import argparse
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path

from saccade.runs.metrics import read_metrics, without_times

FEW = (
    *("sft.steps=10", "rl.steps=2", "rl.tasks_per_step=6", "rl.group_size=6"),
    *("evaluation_tasks=4", "curve_tasks=4", "difficulty=1", "model.dtype=bfloat16"),
)


def hashes(out: Path) -> dict[str, str]:
    """Of trajectories, checkpoints and metrics without their times: what depends on no clock."""
    found = {}
    for pattern in ("trajectories/*/*.jsonl", "checkpoints/**/*.safetensors"):
        digest = hashlib.sha256()
        for file in sorted(out.glob(pattern)):
            digest.update(file.relative_to(out).as_posix().encode() + file.read_bytes())
        found[f"{pattern.partition('/')[0]} sha256"] = digest.hexdigest()[:16]
    numbers = repr(without_times(out / "metrics.jsonl")).encode()
    return {**found, "metrics sha256": hashlib.sha256(numbers).hexdigest()[:16]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--fast", action="store_true", help="Without --deterministic.")
    parser.add_argument("--set", action="append", default=[], help="As of saccade train; repeatable.")
    given = parser.parse_args()
    changed = (*FEW, f"model.device={given.device}", *given.set)
    command = [sys.executable, "-m", "saccade", "train", "look_closer", "--out", str(given.out), "--quiet"]
    command += [] if given.fast else ["--deterministic"]
    started = time.monotonic()
    done = subprocess.run([*command, *(word for one in changed for word in ("--set", one))])
    rows = [values for _, values in read_metrics(given.out / "metrics.jsonl")]
    names = ("mismatch_kl", "mismatch_abs", "rollout/turns", "time/rollout_s", "time/step_s", "time/step_cpu_s")
    told = {name: [row[name] for row in rows if name in row] for name in names}
    found = {**hashes(given.out), "wall_s": round(time.monotonic() - started, 1), **told}
    given.json.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
