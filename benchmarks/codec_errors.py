"""Messages for wrong settings, records and bodies that a server or a page sent: of this checkout and an older one.

git worktree add /tmp/before COMMIT
python benchmarks/codec_errors.py --before /tmp/before/src --out docs/results/codec_errors.json
python benchmarks/codec_errors.py --page docs/reference/wrong_settings.md     # the page, from that file
"""

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
STORED = ROOT / "docs" / "results" / "codec_errors.json"

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
SERVERS: tuple[dict[str, object], ...] = (
    *({"prot": 1}, {"colour": 1}, {"port": 70_000}, {"port": "8400"}, {"port": 80.0}, {"workers": True}, {"queue": 0}),
    *({"drain_s": "long"}, {"drain_s": float("nan")}, {"image_mb": 10**30}, {"host": ""}, {"host": ["a"]}),
    *({"log": "all"}, {"builder": "module.function"}, {"request_s": -1}),
)
ASKS = (
    *(b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"question": 3}', b'{"question": " "}', b'{"image": 3}'),
    *(b'{"path": "x"}', b'{"questions": "x"}', b'{"samples": 99}', b'{"samples": true}', b'{"samples": "2"}'),
    *(b'{"temperature": NaN}', b'{"temperature": 9}', b'{"seed": -1}', b'{"seed": 9223372036854775808}'),
    *(b'{"tools": "crop"}', b'{"tools": [1]}', b'{"from": 3}', b'{"from": {"id": "a", "turn": 0}}'),
)
RESULT = {"is_ok": True, "refused": None, "text": "", "data": {}, "images": []}
RESULTS: tuple[object, ...] = (
    *(None, [], "text", {}, {**RESULT, "text": 3}, {**RESULT, "is_ok": 1}, {**RESULT, "refused": "weather"}),
    *({**RESULT, "data": []}, {**RESULT, "data": None}, {**RESULT, "images": {}}, {**RESULT, "images": [3]}),
    *({**RESULT, "images": [{"hash": "0", "width": 1, "height": 1}]}, {**RESULT, "images": None}),
    *(
        {**RESULT, "images": [{"hash": "0", "width": 1, "height": 1, "png": png}]}
        for png in ("%%%", "aGVsbG8=", 3, "\ud800")
    ),
)


def messages() -> dict[str, dict[str, str]]:
    """Of the Saccade that this process imports."""
    from saccade.cli import run_command
    from saccade.config.config_file import read_config
    from saccade.config.settings import apply_overrides
    from saccade.errors import UserError
    from saccade.media.store import MediaStore
    from saccade.miniature.demo import DemoSettings
    from saccade.playground.asking import read_ask
    from saccade.runs.records import read_records
    from saccade.services.client.remote_tools import result_of
    from saccade.services.settings import serving_of
    from saccade.tools.catalogue.settings import ToolsFile

    def received(answer: Any) -> object:
        # Of the text in this checkout, of what it says in older ones.
        is_of_text = result_of.__annotations__["answer"] is bytes
        return result_of(json.dumps(answer).encode() if is_of_text else answer, MediaStore(), None)  # type: ignore[arg-type]

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "file")

        def configured(text: str) -> object:
            file.write_text(text)
            if text.startswith("run: {"):
                # Options of the command line are read by the command.
                error = io.StringIO()
                with contextlib.redirect_stderr(error):
                    run_command(["demo", "--config", str(file), "--out", str(Path(folder, "run"))])
                raise UserError(error.getvalue().strip().removeprefix("saccade: "))
            return apply_overrides(DemoSettings(), read_config(file).overrides)

        def recorded(line: object) -> object:
            file.write_text(json.dumps(line) + "\n")
            return list(read_records(file))

        found = {
            "--set": {one: said(lambda one=one: apply_overrides(DemoSettings(), [one])) for one in SETS},
            "--config": {one: said(lambda one=one: configured(one)) for one in CONFIGS},
            "[server]": {
                str(one): said(lambda one=one: serving_of(ToolsFile(tools=(), server=one))) for one in SERVERS
            },
            "questions of a page": {
                one[:40].decode("latin-1"): said(lambda one=one: read_ask(one, {}, "tagged")) for one in ASKS
            },
            "results of a tool server": {json.dumps(one): said(lambda one=one: received(one)) for one in RESULTS},
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


def page(rows: dict[str, list[dict[str, str]]]) -> str:
    """The messages for wrong settings as a page: the message of before where it was another one."""
    lines = [
        "# Messages for wrong settings",
        "",
        "This page shows the answers of Saccade to 30 wrong settings: 17 of `--set` and 13 of `--config`.",
        "`python benchmarks/codec_errors.py --page docs/reference/wrong_settings.md` makes it from",
        "`docs/results/codec_errors.json`.",
        "Each message was compared with the one before all records got one codec; both are shown where they differ.",
        "Long lists of known names are cut here.",
        "",
    ]
    for kind in ("--set", "--config"):
        lines += [f"## `{kind}`", "", "| input | message |", "|---|---|"]
        for row in rows[kind]:
            texts = [row["after"]] if row["before"] == row["after"] else [f"before: {row['before']}", row["after"]]
            lines.append(f"| {cell(row['input'])} | {'<br>'.join(map(cell, texts))} |")
        same = sum(row["before"] == row["after"] for row in rows[kind])
        lines += ["", f"{same} of {len(rows[kind])} messages are the same before and after.", ""]
    return "\n".join(lines).rstrip() + "\n"


def cell(text: str) -> str:
    """A text as code in a table; of a list of names the first four."""
    parts = re.split(r"(Known here: |set one of: )", text, maxsplit=1)
    if len(parts) == 3 and len(names := parts[2].split(", ")) > 4:
        parts[2] = ", ".join([*names[:4], "..."])
    shown = json.dumps("".join(parts), ensure_ascii=False)[1:-1].replace('\\"', '"').replace("|", "\\|")
    shown = shown.encode("utf-8", "backslashreplace").decode()
    quote = "``" if "`" in shown else "`"
    return f"{quote} {shown} {quote}" if "`" in shown else f"`{shown}`"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="folder src of an older checkout")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tell", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--page", type=Path, help="write the page from the results that are there")
    options = parser.parse_args()
    if options.page is not None:
        options.page.write_text(page(json.loads(STORED.read_text(encoding="ascii"))), encoding="utf-8")
        return
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
