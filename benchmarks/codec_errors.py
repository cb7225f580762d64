"""Messages for wrong settings (`--set`, `--config`) and wrong records, of this checkout and of an older one beside it.

git worktree add /tmp/before COMMIT
python benchmarks/codec_errors.py --before /tmp/before/src --out docs/results/codec_errors.json
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

SETS = (
    *("rl.steps=1.5", "rl.steps=", "rl.steps=ten", "rl.steps=1e400", "rl.steps", "steps=3", "rl.stps=3", "rl=3", "=3"),
    *("rl.optimizer.learning_rate=fast", "rl.optimizer.learning_rate=nan", "rl.optimizer.betas=0.9", "lr=1e-5"),
    *("rl.algorithm.name=ppoo", "batch_size=8", "rl.optimizer.lora=3", "rl.temperature=\ud800"),
)
CONFIGS = (
    *("rl:\n  step: 3", "rl: {steps: abc}", "rl: 3", "rl: {}", "rl: {steps: 1, steps: 2}", "rl: [1", "- 1"),
    *("? [a]\n: 1", "run: {sed: 1}", "run: {seed: x}", "run: 3", "rl: {steps: 2020-01-01}", "rl: {steps: true}"),
)
LINE: dict[str, Any] = {
    **{"kind": "trajectory", "task_id": "a", "family": "f", "stream": "", "sample": 0, "seed": 1, "policy_version": 0},
    **{"status": "answered", "failure": "", "score": {"terms": [{"name": "a", "value": 1.0, "weight": 1.0}]}},
    "turns": [
        {
            **{"index": 0, "text": "", "thought": "", "action": {"type": "answer", "text": "7"}},
            **{"is_well_formed": True, "result": None, "observation": None},
        }
    ],
    "segments": [{"role": "action", "turn": 0, "ids": [1, 2], "logprobs": [-0.5, -1.0], "images": []}],
}
CHANGES: tuple[tuple[str, object], ...] = (
    *(("kind", ...), ("kind", "song"), ("kind", 3), ("seed", ...), ("seed", "1"), ("seed", True), ("seed", 1.5)),
    *(("seed", None), ("task_id", 3), ("status", "asleep"), ("turns", {}), ("turns", [[]]), ("turns.0.action", None)),
    *(("turns.0.action.type", "sing"), ("turns.0.action.text", 7), ("turns.0.is_well_formed", 1)),
    *(("turns.0.boxes", [{"text": "", "box": [1, 2, 3]}]), ("turns.0.boxes", [{"text": "", "box": [1, 2, 3, "4"]}])),
    *(("turns.0.points", [{"text": "", "label": "", "point": [1]}]), ("turns.0.result", {"text": ""})),
    *(("segments.0.ids", [1, True]), ("segments.0.ids", "x" * 99), ("segments.0.ids", [1.0])),
    *(("segments.0.logprobs", [None]), ("segments.0.role", "singer"), ("segments.0.role", "\ud800")),
    *(("segments.0.versions", [{"version": 1, "start": 0, "end": 1}]), ("score.terms", 3)),
    *(("score.terms.0.value", "much"), ("score.notes", {"a": "b"})),
)


def messages() -> dict[str, dict[str, str]]:
    """Of the Saccade that this process imports."""
    from saccade.config.config_file import read_config
    from saccade.config.settings import apply_overrides
    from saccade.miniature.demo import DemoSettings
    from saccade.runs.records import read_records

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "file")

        def configured(text: str) -> object:
            file.write_text(text)
            return apply_overrides(DemoSettings(), read_config(file).overrides)

        def recorded(line: object) -> object:
            file.write_text(json.dumps(line) + "\n")
            return list(read_records(file))

        found = {
            "--set": {one: said(lambda one=one: apply_overrides(DemoSettings(), [one])) for one in SETS},
            "--config": {one: said(lambda one=one: configured(one)) for one in CONFIGS},
            "records": {
                f"{key}: {'(left out)' if value is ... else json.dumps(value)}": said(
                    lambda key=key, value=value: recorded(changed(key, value))
                )
                for key, value in CHANGES
            },
        }
    return {kind: {key: text.replace(str(file), "FILE") for key, text in some.items()} for kind, some in found.items()}


def said(work: Callable[[], object]) -> str:
    try:
        return f"(taken: {work()!r})"[:200]
    # Whatever is raised is what is looked for.
    except Exception as error:
        kind = "" if type(error).__name__ == "UserError" else f"{type(error).__name__}: "
        return f"{kind}{error}"


def changed(key: str, value: object) -> object:
    line = json.loads(json.dumps(LINE))
    inner, (*steps, last) = line, key.split(".")
    for step in steps:
        inner = inner[int(step) if step.isdigit() else step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="folder src of an older checkout")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tell", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tell:
        print(json.dumps(messages()))
        return
    told: dict[str, dict[str, dict[str, str]]] = {}
    for name, source in (("before", options.before), ("after", ROOT / "src")):
        if source is not None:
            environment = {**os.environ, "PYTHONPATH": str(source)}
            command = [sys.executable, __file__, "--tell"]
            made = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            told[name] = json.loads(made.stdout)
    rows = {
        kind: [{"input": key, **{name: told[name][kind][key] for name in told}} for key in some]
        for kind, some in told["after"].items()
    }
    for kind, some in rows.items():
        print(f"{kind}: {len(some)} inputs, {sum(row.get('before') != row['after'] for row in some)} messages differ")
    text = json.dumps(rows, indent=1)
    print(text) if options.out is None else options.out.write_text(text + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
