"""The real lmms-eval and VLMEvalKit measure a served checkpoint, tool loop and all, and their figures are ours.

    python benchmarks/serve_agent_harnesses.py --checkpoint runs/demo/checkpoints/rl-000030 --harness HARNESS/bin/python

``--harness`` is the Python of an environment of its own in which lmms-eval 0.7.3 (without torchvision) and ms-vlmeval
0.0.20 are installed; ``--vlmeval-path`` is put before VLMEvalKit's PYTHONPATH, where its torchvision lies apart. All is
offline: questions are drawn, and written as the harnesses' own data sets. Each harness asks the server; then the same
checkpoint is played here directly, on the pictures as that harness sends them (lmms-eval sends PNG, VLMEvalKit JPEG),
and replies and figures are compared question by question.

Rules: lmms-eval by the exported task's own (the reply is the answer); VLMEvalKit once as a multiple-choice set (its
``can_infer``, here by our reading ``vlmevalkit``), and once with the question alone by OCRBench's (the answer is in the
reply), whose data file it takes as it is.
"""

import argparse
import io
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pandas as pd
from PIL import Image

from saccade.engines.local import local_engine
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import inferred_option
from saccade.evaluation.exports.harness_tasks import write_lmms_eval_task, write_vlmevalkit_tsv
from saccade.evaluation.exports.vlmevalkit import FAILED
from saccade.media import MediaStore
from saccade.recipes.serving import served_policy
from saccade.rollout import RolloutRequest
from saccade.rollout.batch import rollout_batch
from saccade.tasks import generate
from saccade.types import Task

OPTIONS = ("rows", "columns", "checks", "plain")
NAME = "demo"
PROMPT = "Question: {question}\nOptions:\n{options}\nPlease select the correct answer from the options above. \n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--harness", type=Path, required=True)
    parser.add_argument("--vlmeval-path", default="")
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument(
        "--work", type=Path, help="Folder for what the harnesses write, by default one that is removed."
    )
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        work = (given.work or Path(made)).absolute()
        found = measured(given, work)
    found["machine"] = {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    print(json.dumps(found, indent=2))
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")
    if not all(
        one["replies_equal"] == one["questions"] and one["ours"] == one["theirs"] for one in found["runs"].values()
    ):
        sys.exit("the figures differ")


def measured(given: argparse.Namespace, work: Path) -> dict:
    media = MediaStore()
    tasks = [
        generate("visual_search", split="held_out", index=index, seed=0, media=media, difficulty=0.5).task
        for index in range(given.count)
    ]
    with serving(given.checkpoint) as port:
        lmms = lmms_eval(given, work / "lmms", tasks, media, port)
        mcq, plain = vlmevalkit(given, work / "vlmeval", tasks, media, port)
    ours = played(given.checkpoint, tasks, media)
    runs = {"lmms_eval": compared(tasks, lmms, ours, lambda task, said: said.casefold() == task.answer)}
    jpeg = as_jpeg(tasks, media)
    asked = [replace(task, question=mcq_prompt(task)) for task in jpeg]
    runs["vlmevalkit_mcq"] = compared(tasks, mcq, played(given.checkpoint, asked, media), by_can_infer)
    runs["vlmevalkit_ocrbench"] = compared(
        tasks, plain, played(given.checkpoint, jpeg, media), lambda task, said: task.answer in said.lower()
    )
    return {"checkpoint": given.checkpoint.name, "questions": given.count, "runs": runs}


def compared(tasks: Sequence[Task], theirs: dict, ours: Sequence[str], is_right) -> dict:
    """Their replies and figure beside ours, in their order of questions."""
    replies = theirs["replies"]
    figure = sum(is_right(task, said) for task, said in zip(tasks, ours)) / len(tasks)
    return {
        "questions": len(tasks),
        "replies_equal": sum(one == other for one, other in zip(replies, ours)),
        "theirs": round(theirs["figure"], 6),
        "ours": round(figure, 6),
        "wall_s": theirs["wall_s"],
    }


def by_can_infer(task: Task, said: str) -> bool:
    """VLMEvalKit's rule without a judge, as our reading has it."""
    options = dict(zip("ABCD", OPTIONS))
    return inferred_option(said, options) == "ABCD"[OPTIONS.index(task.answer)]


def played(checkpoint: Path, tasks: Sequence[Task], media: MediaStore) -> list[str]:
    """The answers of a direct rollout, greedy as the server samples."""
    policy = served_policy(checkpoint, local_engine)
    for task in tasks:
        for image in task.images:
            policy.media.add(media.get(image))
    chat, view, spec = policy.model.chat, policy.model.view, policy.episodes
    trajectories = rollout_batch(
        [RolloutRequest(task=task, stream="direct", sample=0, seed=1) for task in tasks],
        engine=policy.agent.engine,
        chat=chat,
        make_env=lambda: spec.environment(policy.media, view),
        settings=spec.rollout,
    )
    return [one.answer or "" for one in trajectories]


def as_jpeg(tasks: Sequence[Task], media: MediaStore) -> list[Task]:
    """The tasks with their pictures as VLMEvalKit sends them: Pillow's JPEG as it is by default."""
    changed = []
    for task in tasks:
        buffer = io.BytesIO()
        media.get(task.images[0]).save(buffer, "JPEG")
        changed.append(replace(task, images=(media.add(Image.open(buffer).convert("RGB")),)))
    return changed


def mcq_prompt(task: Task) -> str:
    options = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCD", OPTIONS))
    return PROMPT.format(question=task.question, options=options).strip()


@contextmanager
def serving(checkpoint: Path) -> Iterator[int]:
    """``saccade serve-agent`` in a process of its own, by its port."""
    command = [
        sys.executable,
        "-m",
        "saccade",
        "serve-agent",
        "--model",
        str(checkpoint),
        "--name",
        NAME,
        "--port",
        "0",
    ]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        port = next(
            entry["port"]
            for line in server.stderr
            if line.startswith("{") and (entry := json.loads(line))["message"] == "serving"
        )
        httpx.get(f"http://127.0.0.1:{port}/health", timeout=60).raise_for_status()
        yield port
        print(httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=60).text, file=sys.stderr)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def run(command: Sequence[str], folder: Path, **environment: str) -> float:
    """Seconds that a command took; what it said stands in the folder."""
    began = time.monotonic()
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with (folder / "log.txt").open("a") as log:
        subprocess.run(
            command, cwd=folder, env={**os.environ, **offline, **environment}, stdout=log, stderr=log, check=True
        )
    return round(time.monotonic() - began, 1)


def lmms_eval(given: argparse.Namespace, folder: Path, tasks: Sequence[Task], media: MediaStore, port: int) -> dict:
    write_lmms_eval_task(tasks, folder, "drawn", media)
    wall_s = run(
        [
            *[str(given.harness), "-m", "lmms_eval", "--model", "openai", "--model_args"],
            f"model_version={NAME},base_url=http://127.0.0.1:{port}/v1,api_key=none,num_concurrent=8",
            *["--include_path", str(folder), "--tasks", "drawn", "--batch_size", "1", "--log_samples"],
            *["--output_path", str(folder / "out")],
        ],
        folder,
        OPENAI_API_KEY="none",
    )
    [results] = (folder / "out").rglob("*_results.json")
    [samples] = (folder / "out").rglob("*_samples_drawn.jsonl")
    lines = sorted(map(json.loads, samples.read_text().splitlines()), key=lambda line: line["doc_id"])
    figure = json.loads(results.read_text())["results"]["drawn"]["accuracy,none"]
    return {"replies": [line["filtered_resps"] for line in lines], "figure": figure, "wall_s": wall_s}


def vlmevalkit(
    given: argparse.Namespace, folder: Path, tasks: Sequence[Task], media: MediaStore, port: int
) -> tuple[dict, dict]:
    data = folder / "data"
    write_vlmevalkit_tsv([replace(task, choices=OPTIONS) for task in tasks], data / "Drawn.tsv", media)
    plain = pd.read_csv(write_vlmevalkit_tsv(tasks, data / "OCRBench_MINI.tsv", media), sep="\t")
    plain["answer"] = [str([answer]) for answer in plain["answer"]]
    plain["category"] = "Regular Text Recognition"
    plain.to_csv(data / "OCRBench_MINI.tsv", sep="\t", index=False)
    wall_s = run(
        [
            *[str(given.harness), "-m", "vlmeval.run", "--data", "Drawn", "OCRBench_MINI", "--model", NAME],
            *["--base-url", f"http://127.0.0.1:{port}/v1", "--judge", "exact_matching", "--api-nproc", "8"],
            *["--temperature", "0", "--work-dir", str(folder / "out")],
        ],
        folder,
        LMUData=str(data),
        PYTHONPATH=given.vlmeval_path,
    )
    mcq = pd.read_excel(newest(folder, f"{NAME}_Drawn.xlsx")).sort_values("index")
    accuracy = pd.read_csv(newest(folder, f"{NAME}_Drawn_acc.csv"))
    ocr = pd.read_excel(newest(folder, f"{NAME}_OCRBench_MINI.xlsx")).sort_values("index")
    score = json.loads(newest(folder, f"{NAME}_OCRBench_MINI_score.json").read_text())

    def replies(table: pd.DataFrame) -> list[str]:
        # VLMEvalKit takes an empty reply for a failed request, asks six times more, and writes its own sentence.
        said = ["" if pd.isna(said) else str(said) for said in table["prediction"]]
        return ["" if FAILED in one else one for one in said]

    return (
        {"replies": replies(mcq), "figure": float(accuracy["Overall"].iloc[0]), "wall_s": wall_s},
        {"replies": replies(ocr), "figure": score["Final Score"] / len(tasks), "wall_s": wall_s},
    )


def newest(folder: Path, name: str) -> Path:
    return max((folder / "out").rglob(name), key=lambda path: path.stat().st_mtime)


if __name__ == "__main__":
    main()
