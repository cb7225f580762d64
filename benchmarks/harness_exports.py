"""An evaluation of ours scored again by the real VLMEvalKit, lmms-eval and inspect_ai, from what we export.

    python benchmarks/harness_exports.py --checkpoint runs/demo/checkpoints/rl-000030 --harness H/bin/python \
        --inspect I/bin/python

The environments are those of ``serve_agent_harnesses.py`` and one with inspect-ai 0.3.285. Questions of
``visual_search`` are written with their four options as a file of one's own and measured by ``saccade eval``; the run
is exported. VLMEvalKit scores its prediction file by ``run.py --mode eval``, lmms-eval its log by ``--model from_log``,
inspect_ai its ``.eval`` by its own scorer ``exact``, after pictures and tool calls were counted in it. What
VLMEvalKit and lmms-eval wrote is imported again. All figures are of the same questions and must be the same.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from serve_agent_harnesses import OPTIONS, newest, run

from saccade.evaluation.exports.harness_tasks import write_lmms_eval_task, write_vlmevalkit_tsv
from saccade.evaluation.sample_files import read_samples
from saccade.media import MediaStore
from saccade.tasks import generate

READ_LOG = """
import json, sys
from inspect_ai import score
from inspect_ai.log import read_eval_log
from inspect_ai.model import ContentImage
from inspect_ai.scorer import exact

log = read_eval_log(sys.argv[1])
again = score(log, exact(), action="append", display="none")
contents = [part for one in log.samples for m in one.messages if isinstance(m.content, list) for part in m.content]
print(json.dumps({
    "samples": len(log.samples),
    "pictures": sum(isinstance(part, ContentImage) for part in contents),
    "tool_calls": sum(len(m.tool_calls or []) for one in log.samples for m in one.messages if m.role == "assistant"),
    "tool_results": sum(m.role == "tool" for one in log.samples for m in one.messages),
    "ours": sum(one.scores["saccade"].value == "C" for one in log.samples) / len(log.samples),
    "theirs": sum(one.scores["exact"].value in ("C", 1) for one in again.samples) / len(again.samples),
}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--harness", type=Path, required=True)
    parser.add_argument("--inspect", type=Path, required=True)
    parser.add_argument("--vlmeval-path", default="")
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        found = measured(given, Path(made))
    print(json.dumps(found, indent=2))
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")
    figures = {round(figure, 6) for figure in found["figures"].values()}
    if len(figures) != 1:
        sys.exit("the figures differ")


def measured(given: argparse.Namespace, work: Path) -> dict:
    media = MediaStore()
    tasks = [
        replace(task, choices=OPTIONS)
        for index in range(given.count)
        for task in [generate("visual_search", split="held_out", index=index, seed=0, media=media, difficulty=0.5).task]
    ]
    rows = []
    for task in tasks:
        picture = media.export(task.images[0], work / "pictures")
        rows.append(
            {
                "id": task.id,
                "question": task.question,
                "answer": task.answer,
                "choices": OPTIONS,
                "images": [str(picture)],
            }
        )
    (work / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    saccade(
        "eval", "--model", given.checkpoint, "--data", work / "own.jsonl", "--protocol", "tagged", "--out", work / "run"
    )
    ours = read_samples(work / "run" / "samples" / "tagged.jsonl").samples
    figures = {"saccade": sum(bool(one.right) for one in ours) / len(ours)}
    figures["vlmevalkit"], predictions = vlmevalkit(given, work, tasks, media)
    figures["lmms_eval"], log = lmms_eval(given, work, tasks, media)
    figures["imported_from_vlmevalkit"] = imported(work, predictions, "vlmevalkit")
    figures["imported_from_lmms_eval"] = imported(work, log, "lmms-eval")
    seen = inspect(given, work)
    figures["inspect_exact"] = seen["theirs"]
    figures["inspect_ours"] = seen["ours"]
    return {"questions": given.count, "figures": figures, "inspect": seen}


def vlmevalkit(given: argparse.Namespace, work: Path, tasks: Sequence, media: MediaStore) -> tuple[float, Path]:
    folder = work / "vlmeval"
    write_vlmevalkit_tsv(tasks, folder / "data" / "Drawn.tsv", media)
    file = folder / "out" / "demo" / "demo_Drawn.xlsx"
    saccade("export", work / "run", "--to", "vlmevalkit", "--name", "tagged", "--out", file)
    run(
        [
            *[str(given.harness), "-m", "vlmeval.run", "--data", "Drawn", "--model", "demo", "--mode", "eval"],
            *["--base-url", "http://127.0.0.1:9/v1", "--judge", "exact_matching", "--reuse"],
            *["--work-dir", str(folder / "out")],
        ],
        folder,
        LMUData=str(folder / "data"),
        PYTHONPATH=given.vlmeval_path,
    )
    return float(pd.read_csv(newest(folder, "demo_Drawn_acc.csv"))["Overall"].iloc[0]), file


def lmms_eval(given: argparse.Namespace, work: Path, tasks: Sequence, media: MediaStore) -> tuple[float, Path]:
    folder = work / "lmms"
    write_lmms_eval_task([replace(task, choices=()) for task in tasks], folder, "drawn", media)
    saccade("export", work / "run", "--to", "lmms-eval", "--name", "tagged", "--as", "drawn", "--out", folder / "logs")
    run(
        [
            *[str(given.harness), "-m", "lmms_eval", "--model", "from_log", "--model_args", f"logs={folder / 'logs'}"],
            *["--include_path", str(folder), "--tasks", "drawn", "--batch_size", "1", "--log_samples"],
            *["--output_path", str(folder / "out")],
        ],
        folder,
    )
    [results] = (folder / "out").rglob("*_results.json")
    [log] = (folder / "out").rglob("*_samples_drawn.jsonl")
    return json.loads(results.read_text())["results"]["drawn"]["accuracy,none"], log


def imported(work: Path, file: Path, form: str) -> float:
    saccade("import", file, "--from", form, "--name", form, "--out", work / "imported")
    samples = read_samples(work / "imported" / "samples" / f"{form}.jsonl").samples
    return sum(bool(one.right) for one in samples) / len(samples)


def inspect(given: argparse.Namespace, work: Path) -> dict:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [str(given.inspect), "-m", "saccade", "export", str(work / "run"), "--name", "tagged", "--to", "inspect"]
    subprocess.run([*command, "--out", str(work / "run.eval")], check=True, env=environment)
    found = subprocess.run(
        [str(given.inspect), "-c", READ_LOG, str(work / "run.eval")], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(found.stdout.splitlines()[-1])


def saccade(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "saccade", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
