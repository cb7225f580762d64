"""Faults planted one at a time in a copy of the source, to see that the tests which guard a mechanism fail.

``python tests/planted.py`` plants all, ``python tests/planted.py journal KL`` those of mechanisms with these words.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "docs", "examples", "benchmarks", "pyproject.toml", "README.md", "CHANGELOG.md")


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong line: ``new`` in place of ``old``, which stands once in ``file``, a path below ``src/saccade``."""

    mechanism: str
    file: str
    old: str
    new: str
    tests: str
    """That must fail, below ``tests``."""


FAULTS = (
    Fault(
        "journal: a killed process's half line",
        "evaluation/journal.py",
        "        _take_out_broken(path)\n",
        "",
        "evaluation/test_survival.py",
    ),
    Fault(
        "journal: the key holds the model",
        "evaluation/journal.py",
        '        "model": dict(model),\n',
        "",
        "evaluation/test_survival.py",
    ),
    Fault(
        "checkpoint: a damaged one is passed over",
        "runs/checkpoints.py",
        "if (wrong := damage_in(checkpoint)) is not None:",
        "if (wrong := damage_in(checkpoint)) is None and wrong:",
        "train/test_run_damaged.py",
    ),
    Fault(
        "checkpoint: the furthest of a plan",
        "runs/checkpoints.py",
        "for checkpoint in reversed(found):",
        "for checkpoint in found:",
        "train/test_run_damaged.py",
    ),
    Fault(
        "index of pages: those that were replaced are gone",
        "retrieval/store.py",
        "for row, (place, entry) in enumerate(stored) if place >= replaced.get(entry.file, 0)]",
        "for row, (place, entry) in enumerate(stored)]",
        "retrieval/test_building.py",
    ),
    Fault(
        "index of records: a file that has changed",
        "viewer/store/run.py",
        "if segment.info.fingerprint == wanted:",
        "if segment.info.fingerprint:",
        "viewer/test_view_index.py",
    ),
    Fault(
        "ledger: earlier processes' requests",
        "curation/teachers.py",
        "self._before.get(role, none).plus(self._now.get(role, none)).as_counts()",
        "self._now.get(role, none).as_counts()",
        "cli/test_ledger.py",
    ),
    Fault(
        "record sums: metrics that grow",
        "runs/record_sums.py",
        "sum_of(metrics, _GROWING, start=known)",
        "sum_of(metrics, _GROWING, start=0)",
        "train/test_run_damaged.py",
    ),
    Fault(
        "packs: the place that predicts a token",
        "learner/sequences.py",
        "before - prompt + rest_at)",
        "before - prompt + rest_at - 1)",
        "learner/test_packing_parity.py",
    ),
    Fault(
        "packs: positions after the prompt",
        "learner/sequences.py",
        "positions_from(rest, seen, start=end)",
        "positions_from(rest, seen, start=end + 1)",
        "learner/test_packing_parity.py",
    ),
    Fault(
        "masks: only the policy's tokens are targets",
        "learner/sequences.py",
        "for i, is_action in zip(one.ids, one.is_action) if is_action",
        "for i, is_action in zip(one.ids[1:], one.is_action) if is_action",
        "learner/test_learner_update.py",
    ),
    Fault(
        "advantages: the unbiased deviation",
        "algorithms/advantages.py",
        "/ (len(rewards) - 1)\n",
        "/ len(rewards)\n",
        "algorithms/test_algorithms_advantages.py",
    ),
    Fault(
        "advantages: a failed trajectory is no sibling",
        "algorithms/advantages.py",
        "    total, siblings = math.fsum(rewards), len(rewards) - 1\n",
        "    total, siblings = math.fsum(rewards), len(group.trajectories) - 1\n",
        "algorithms/test_algorithms_advantages.py",
    ),
    Fault(
        "loss: the clip above",
        "algorithms/losses.py",
        "ratios.clamp(1.0 - clip_low, 1.0 + clip_high)",
        "ratios.clamp(1.0 - clip_low, 1.0 + clip_low)",
        "algorithms/test_algorithms_losses.py",
    ),
    Fault(
        "KL: the sign of k3",
        "algorithms/losses.py",
        "(-difference).exp() - 1.0 + difference",
        "difference.exp() - 1.0 - difference",
        "algorithms/test_algorithms_losses.py",
    ),
    Fault(
        "sandbox limits: memory",
        "sandbox/processes.py",
        "        resource.RLIMIT_DATA: private,\n        resource.RLIMIT_AS: mapped_bytes + private + _SHARED_BYTES,\n",
        "",
        "sandbox/test_sandbox_output.py",
    ),
    Fault(
        "codec: what is wrong is said of values",
        "codec/codecs.py",
        "except (msgspec.ValidationError, UnicodeEncodeError) as error:",
        "except UnicodeEncodeError as error:",
        "codec/test_codec_records.py",
    ),
    Fault(
        "parser: one action in a turn",
        "protocols/tagged.py",
        "if len(actions) > 1:",
        "if len(actions) > 2:",
        "protocols/test_protocols_tagged.py",
    ),
    Fault(
        "protocol: where a turn stops",
        "protocols/tagged.py",
        'STOP = ("</tool_call>", "</answer>")',
        'STOP = ("</answer>",)',
        "protocols/test_protocols_tagged.py",
    ),
    Fault(
        "crop coordinates: the named picture",
        "protocols/coordinates.py",
        "images[int(number) - 1]",
        "images[0]",
        "protocols/test_protocols_coordinates.py",
    ),
    Fault(
        "resize rule: largest view",
        "media/resize.py",
        "math.floor(width / shrink / factor)",
        "math.ceil(width / shrink / factor)",
        "models/test_models_families.py",
    ),
    Fault(
        "reward gate: format needs an answer",
        "rewards/reward.py",
        'return trajectory.status == "answered" and all(turn.is_well_formed',
        "return all(turn.is_well_formed",
        "rewards/test_rewards_totals.py",
    ),
    Fault(
        "answer reading: second thoughts",
        "rewards/answers/replies.py",
        "if plain and plain[0] in _JUDGING:",
        "if not plain:",
        "rewards/answers/test_rewards_replies.py",
    ),
    Fault(
        "splits: the one to measure on",
        "tasks/splits.py",
        'found = _one_of(names, "test", where) or _one_of(names, "validation", where)\n    return found',
        'found = _one_of(names, "validation", where) or _one_of(names, "test", where)\n    return found',
        "config/test_splits.py",
    ),
    Fault(
        "curriculum: each task once in an epoch",
        "tasks/curriculum.py",
        "        start = max(0, first - epoch * size)\n",
        "        start = 0\n",
        "tasks/test_tasks_curriculum.py",
    ),
    Fault(
        "curriculum: difficulty follows the pass rate",
        "tasks/adaptive.py",
        "self._gain * (rate - self._target)",
        "self._gain * (self._target - rate)",
        "tasks/test_tasks_adaptive.py",
    ),
    Fault(
        "seeds: labels keep their lengths",
        "seeding.py",
        'kind + struct.pack("<Q", len(text)) + text',
        "kind + text",
        "test_seeding.py",
    ),
    Fault(
        "engine: a batch samples what a single sequence does",
        "engines/rows.py",
        "[row.slot.length for row in rows],",
        "[max(row.slot.length for row in rows) for row in rows],",
        "engines/test_engines_local.py",
    ),
    Fault(
        "engine: a stop string across tokens",
        "engines/sampling.py",
        "seen = self._tail + token",
        "seen = token",
        "engines/test_engines_sampling.py",
    ),
    Fault(
        "scheduler: steps between turns",
        "engines/scheduler.py",
        "self.step + _STEPS_BETWEEN_TURNS",
        "self.step",
        "engines/test_engines_scheduler.py",
    ),
    Fault(
        "retries: the wait doubles",
        "retries.py",
        "first_wait_s * 2.0 ** min(attempt, 64) * scatter",
        "first_wait_s * scatter",
        "chat/test_chat_openai.py",
    ),
    Fault(
        "media store: a file that has changed",
        "media/store.py",
        "if image_hash(decoded) != key:",
        "if image_hash(decoded) == '':",
        "media/test_media_store.py",
    ),
    Fault(
        "recorded tools: what a record may name",
        "runs/recorded_tools.py",
        "if module not in _TOOL_MODULES or name not in {entry.name for entry in CATALOGUE}:",
        "if not module:",
        "runs/test_asking.py",
    ),
    Fault(
        "viewer: texts are escaped",
        "viewer/templates.py",
        "autoescape=True",
        "autoescape=False",
        "viewer/test_viewer_report.py",
    ),
)


def plant(fault: Fault, root: Path) -> bytes:
    """Writes the fault into the source below ``root``; what stood there. ValueError where it does not fit once."""
    path = root / "src/saccade" / fault.file
    before = path.read_bytes()
    if (count := before.count(fault.old.encode())) != 1:
        raise ValueError(f"{fault.mechanism}: {fault.file} has {fault.old!r} {count} times; mend tests/planted.py")
    path.write_bytes(before.replace(fault.old.encode(), fault.new.encode()))
    return before


def outcome(fault: Fault, root: Path) -> str:
    """``caught``, ``NOT CAUGHT``, or how else the tests ended, with the fault in the copy at ``root``."""
    before = plant(fault, root)
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"tests/{fault.tests}"]
    run = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    (root / "src/saccade" / fault.file).write_bytes(before)
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    # An error of the collection says nothing about the tests.
    ends = {0: "NOT CAUGHT", 1: "caught"}
    return f"{ends.get(run.returncode, f'pytest ended with {run.returncode}')}  {' '.join(failed)[:160]}".strip()


def main(words: Sequence[str]) -> int:
    chosen = [one for one in FAULTS if not words or any(word in one.mechanism for word in words)]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        for name in COPIED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, Path(folder) / name)
        for fault in chosen:
            ended = outcome(fault, Path(folder))
            missed += not ended.startswith("caught")
            print(f"{fault.mechanism:55} {fault.tests:45} {ended}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} caught")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
