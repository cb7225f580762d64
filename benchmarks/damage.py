"""What becomes of a run whose files were damaged: 37 kinds of damage, one at a time, each then resumed.

    python benchmarks/damage.py --model CHECKPOINT [--work DIRECTORY] [--json FILE] [NAME ...]

CHECKPOINT is one that ``saccade demo`` made. A short run is killed after its third step, or in the evaluation after its
last; each kind of damage is done to a copy, which is resumed. ``refused`` ended with an error, ``said`` named the file
and went on, ``silent`` did neither; ``same`` and ``other`` compare the records, checkpoints and metrics at the end,
without seconds, with those of a run left alone. ``check`` says whether ``saccade check`` names the file beforehand.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

SETTINGS = (
    *("evaluation_tasks=8", "curve_tasks=4", "rl.steps=4", "rl.checkpoint_every=1", "rl.tasks_per_step=6"),
    *("rl.group_size=6", "rl.optimizer.micro_batch_tokens=2048"),
)
COMPARED = ("trajectories", "evaluations", "media", "checkpoints", "derived", "samples", "index", "signals", "journal")
LAST = "checkpoints/rl-000003"

Damage = Callable[[Path], str]
"""Damages a run and gives the name of the file, as it must be named."""


def flip(name: str, *, at: float = 0.5, bit: int = 0) -> Damage:
    """One bit, at this share of the file."""

    def damage(run: Path) -> str:
        path = first(run, name)
        content = bytearray(path.read_bytes())
        content[int((len(content) - 1) * at)] ^= 1 << bit
        path.write_bytes(content)
        return path.name

    return damage


def exponent(name: str) -> Damage:
    """The highest bit of the exponent of a weight in the middle: of float32, the last byte of four."""

    def damage(run: Path) -> str:
        path = first(run, name)
        content = bytearray(path.read_bytes())
        data = 8 + int.from_bytes(content[:8], "little")
        content[data + (len(content) - data) // 8 * 4 + 3] ^= 1 << 2
        path.write_bytes(content)
        return path.name

    return damage


def cut(name: str, *, to: float = 0.5) -> Damage:
    def damage(run: Path) -> str:
        path = first(run, name)
        os.truncate(path, int(path.stat().st_size * to))
        return path.name

    return damage


def cut_lines(name: str) -> Damage:
    """Without its last line, so that nothing is torn."""

    def damage(run: Path) -> str:
        path = first(run, name)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
        return path.name

    return damage


def remove(name: str) -> Damage:
    def damage(run: Path) -> str:
        path = first(run, name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        return path.name

    return damage


def edit(name: str, old: bytes, new: bytes) -> Damage:
    """Text of the same length, which stays readable."""

    def damage(run: Path) -> str:
        path = first(run, name)
        content = path.read_bytes()
        if old not in content:
            raise SystemExit(f"{path} has no {old!r}")
        path.write_bytes(content.replace(old, new, 1))
        return path.name

    return damage


def first(run: Path, pattern: str) -> Path:
    return sorted(run.glob(pattern))[0]


WEIGHTS, OPTIMIZER = f"{LAST}/model.safetensors", f"{LAST}/trainer/optimizer.pt"
TRAJECTORIES, JOURNAL = "trajectories/rl/step-000002.jsonl", "journal/after_rl.jsonl"
KINDS: Mapping[str, Damage] = {
    "weights: a bit": flip(WEIGHTS),
    "weights: a bit near the end": flip(WEIGHTS, at=0.97, bit=3),
    "weights: an exponent": exponent(WEIGHTS),
    "weights: the header": flip(WEIGHTS, at=0.0005, bit=4),
    "weights: cut": cut(WEIGHTS),
    "weights: empty": cut(WEIGHTS, to=0),
    "weights: removed": remove(WEIGHTS),
    "optimizer: a moment": flip(OPTIMIZER),
    "optimizer: cut": cut(OPTIMIZER, to=0.9),
    "optimizer: removed": remove(OPTIMIZER),
    "tokenizer.json: a bit": edit(f"{LAST}/tokenizer.json", b"A-Za-z", b"A-Xa-z"),
    "tokenizer.json: cut": cut(f"{LAST}/tokenizer.json"),
    "tokenizer.json: removed": remove(f"{LAST}/tokenizer.json"),
    "config.json: a number": edit(f"{LAST}/config.json", b'"rms_norm_eps": 1e-06', b'"rms_norm_eps": 1e-05'),
    "config.json: cut": cut(f"{LAST}/config.json"),
    "template: a letter": edit(f"{LAST}/chat_template.jinja", b"Tools:", b"tools:"),
    "way of asking: a number": edit(f"{LAST}/saccade_asking.json", b'"max_turns": ', b'"max_turns":1'),
    "trained on: cut": cut(f"{LAST}/saccade_trained_on.json"),
    "extras.json: a number": edit(f"{LAST}/trainer/extras.json", b'"next": 12', b'"next": 13'),
    "extras.json: cut": cut(f"{LAST}/trainer/extras.json"),
    "position.json: removed": remove(f"{LAST}/trainer/position.json"),
    "trainer: removed": remove(f"{LAST}/trainer"),
    "metrics: a number": edit("metrics.jsonl", b'"reward/mean": 0.', b'"reward/mean": 1.'),
    "metrics: cut in a line": cut("metrics.jsonl"),
    "metrics: a line lost": cut_lines("metrics.jsonl"),
    "metrics: removed": remove("metrics.jsonl"),
    "trajectories: a bit": flip(TRAJECTORIES, at=0.4, bit=0),
    "trajectories: cut": cut(TRAJECTORIES),
    "trajectories: removed": remove(TRAJECTORIES),
    "picture: a bit": flip("media/*.png"),
    "picture: removed": remove("media/*.png"),
    "pictures: all removed": remove("media"),
    "journal: a letter": edit(JOURNAL, b'"text": "<think>', b'"text": "<thinK>'),
    "journal: cut": cut(JOURNAL, to=0.8),
    "settings.json: a number": edit("settings.json", b'"seed": 3', b'"seed": 8'),
    "run.json: cut": cut("run.json"),
    "asked.json: cut": cut("asked.json"),
}


def command(out: Path, model: Path) -> list[str]:
    words = ["train", "demo", "--model", str(model), "--out", str(out), "--seed", "3", "--threads", "1", "--quiet"]
    return [*[sys.executable, "-m", "saccade"], *words, "--resume", *(x for s in SETTINGS for x in ("--set", s))]


def killed(out: Path, model: Path, *, in_evaluation: bool) -> None:
    """A run that was killed when its third checkpoint was there, or a part of an evaluation in its journal."""
    process = subprocess.Popen(command(out, model), stderr=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None:
        if len(lines(out / JOURNAL)) >= 3 if in_evaluation else (out / LAST).exists():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return
        time.sleep(0.002)
    raise SystemExit("the run ended before it was killed")


def contents(run: Path) -> dict[str, str]:
    """Everything that the same seed must give again."""
    found = {}
    for path in (path for top in COMPARED for path in (run / top).rglob("*") if path.is_file()):
        name = str(path.relative_to(run))
        if ".set-aside" not in name and not name.endswith(".times.jsonl"):
            content = journal(path) if name.startswith("journal") else path.read_bytes()
            found[name] = hashlib.sha256(content).hexdigest()
    return {**found, "metrics.jsonl": hashlib.sha256(b"".join(map(timeless, lines(run / "metrics.jsonl")))).hexdigest()}


def journal(path: Path) -> bytes:
    """In an order of its own, for that of the lines is the order in which samples ended."""
    return b"".join(sorted(map(timeless, lines(path))))


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []


def timeless(line: bytes) -> bytes:
    try:
        values = json.loads(line)
    except ValueError:
        return line
    left_out = ("wall_s", "tool_s")
    kept = {key: value for key, value in values.items() if key not in left_out and not key.startswith("time/")}
    return json.dumps(kept, sort_keys=True).encode()


def told(run: Path, file: str) -> bool:
    """Whether ``saccade check`` names the file, or the folder's first one."""
    done = subprocess.run(
        [sys.executable, "-m", "saccade", "check", str(run)], capture_output=True, text=True, check=False
    )
    return done.returncode == 1 and file in done.stdout


def outcome(name: str, damage: Damage, base: Path, run: Path, model: Path, reference: Mapping[str, str]) -> list[str]:
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(base, run)
    before = (run / "log.txt").stat().st_size
    file = damage(run)
    is_checked = told(run, file)
    done = subprocess.run(command(run, model), capture_output=True, text=True, check=False)
    said = done.stderr + (run / "log.txt").read_text("utf-8", "replace")[before:]
    words = "refused" if done.returncode else "said" if file in said else "silent"
    after = contents(run)
    different = [one for one in reference.keys() | after.keys() if reference.get(one) != after.get(one)]
    same = "-" if done.returncode else "other" if different else "same"
    last = done.stderr.strip().splitlines()[-1] if done.returncode and done.stderr.strip() else ""
    print(
        f"{name:32} {'check' if is_checked else '-':6} {words:8} {same:6} {last[:300]} {sorted(different)[:2]}",
        flush=True,
    )
    return ["check" if is_checked else "-", words, same]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        reference, bases = work / "reference", {name: work / f"killed_{name}" for name in ("training", "evaluation")}
        if not reference.exists():
            subprocess.run(command(reference, arguments.model), check=True, stderr=subprocess.DEVNULL)
        for name, base in bases.items():
            if not base.exists():
                killed(base, arguments.model, in_evaluation=name == "evaluation")
        known = contents(reference)
        found = {
            name: outcome(
                name,
                damage,
                bases["evaluation" if "journal" in name else "training"],
                work / "run",
                arguments.model,
                known,
            )
            for name, damage in {"nothing": lambda _: "nothing", **KINDS}.items()
            if not arguments.names or any(word in name for word in arguments.names)
        }
    counts = Counter(f"{words} {same}" for _, words, same in found.values())
    print(
        f"{len(found)} kinds, {sum(check == 'check' for check, _, _ in found.values())} named by check: {dict(counts)}"
    )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"outcomes": found, "counts": counts}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
