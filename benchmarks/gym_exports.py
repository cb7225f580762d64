"""Exported questions in their real consumers: each loads them by its own classes and pays by the verifier beside them.

    python benchmarks/gym_exports.py --checkpoint runs/demo/checkpoints/rl-000030 --verifiers VF/bin/python \
        --verl VERL/bin/python --verl-source verl --easyr1-source EasyR1 --harness H/bin/python --json OUT.json

``--verifiers`` has verifiers 0.1.14 (its ``vf-eval`` lies beside the Python), ``--verl`` what the data set classes of
verl and EasyR1 import (torch, transformers, tensordict, ray, datasets, qwen-vl-utils), ``--verl-source`` and
``--easyr1-source`` their checkouts, ``--harness`` lmms-eval 0.7.3 and ms-vlmeval 0.0.20, ``--openenv`` another version
of OpenEnv, whose own client then plays at ``saccade openenv``. ``--only`` runs one consumer alone. What is not
given is left out. TRL, Gymnasium and OpenEnv are this Python's. Rewards of honest and hostile replies by each
consumer's own way of calling must be those of our environment.
"""

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
from gym_exports_peers import EASYR1, OPENENV, VERIFIERS, VERL, trl_steps
from serve_agent_harnesses import NAME, serving
from serve_agent_harnesses import lmms_eval as run_lmms_eval
from serve_agent_harnesses import run as run_logged
from serve_agent_harnesses import vlmevalkit as run_vlmevalkit

from saccade.bench.checkpoint import SIZES, write_checkpoint
from saccade.envs import VisualReasoningEnv
from saccade.interop.exports.questions import ExportedQuestions, drawn
from saccade.protocols import direct_protocol

FAMILY = "visual_search"
CROP = '<think>a</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 250]}}</tool_call>'
EPISODES = (
    ("<think>a look</think><answer>rows</answer>",),
    (CROP, "<think>b</think><answer>yes</answer>"),
    (
        "<tool_call>{",
        CROP,
        "no block",
        "<answer>no</answer><answer>yes</answer>",
        "<think>c</think><answer>no</answer>",
    ),
)
"""Replies of a client, turn by turn: honest, with a tool, and broken ones."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, help="A served model for verifiers, lmms-eval and VLMEvalKit.")
    parser.add_argument("--verifiers", type=Path)
    parser.add_argument("--verl", type=Path)
    parser.add_argument("--verl-source", type=Path)
    parser.add_argument("--easyr1-source", type=Path)
    parser.add_argument("--harness", type=Path)
    parser.add_argument("--openenv", type=Path)
    parser.add_argument("--only", choices=["openenv_client", "lmms_eval"], help="This consumer alone.")
    parser.add_argument("--vlmeval-path", default="")
    parser.add_argument("--count", type=int, default=32)
    parser.add_argument("--work", type=Path, help="Folder for the exports, by default one that is removed.")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        work = (given.work or Path(made)).absolute()
        if given.only == "openenv_client":
            found = {given.only: openenv_client(given.openenv, work)}
        elif given.only == "lmms_eval":
            questions = drawn(FAMILY, train=given.count, test=given.count)
            with serving(given.checkpoint) as port:
                found = {given.only: lmms_eval(given, work, questions, port)}
        else:
            found = measured(given, work)
    print(json.dumps(found, indent=2))
    if given.json:
        result = {"command": "python benchmarks/gym_exports.py", "date": date.today().isoformat(), "consumers": found}
        given.json.write_text(json.dumps(result, indent=2) + "\n")
    if not all(one.get("is_as_expected", True) for one in found.values()):
        sys.exit("a consumer differs")


def measured(given: argparse.Namespace, work: Path) -> dict:
    for form in ("verifiers", "gymnasium", "openenv", "trl", "verl", "easyr1", "dataset"):
        saccade(
            *("export", "--family", FAMILY, "-n", given.count, "--test", given.count, "--to", form),
            *("--out", work / form),
        )
    questions = drawn(FAMILY, train=given.count, test=given.count)
    write_checkpoint(work / "tiny", SIZES["tiny"])
    replies, expected = hostile(questions)
    (work / "replies.json").write_text(json.dumps(replies))
    found = {"trl": trl(work, questions), "gymnasium": gymnasium_package(work), "openenv": openenv(work)}
    if given.openenv:
        found["openenv_client"] = openenv_client(given.openenv, work)
    if given.verl and given.verl_source:
        found["verl"] = peer(given.verl, VERL, work, given.verl_source, expected)
    if given.verl and given.easyr1_source:
        found["easyr1"] = peer(given.verl, EASYR1, work, given.easyr1_source, expected)
    if given.verifiers:
        found["verifiers_rewards"] = verifiers_rewards(given.verifiers, work, expected)
    if given.checkpoint:
        tasks = questions.splits["test"]
        with serving(given.checkpoint) as port:
            if given.verifiers:
                found["vf-eval"] = vf_eval(given.verifiers, work, port)
            if given.harness:
                found["lmms_eval"] = lmms_eval(given, work, questions, port)
                mcq, _ = run_vlmevalkit(given, work / "vlmeval", tasks, questions.media, port)
                found["vlmevalkit"] = {"figure": mcq["figure"], "questions": len(tasks)}
    return {name: {key: plain(value) for key, value in one.items()} for name, one in found.items()}


def lmms_eval(given: argparse.Namespace, work: Path, questions: ExportedQuestions, port: int) -> dict:
    """The exported task run by lmms-eval's own command; its figure beside the share of replies that are the answer."""
    tasks = questions.splits["test"]
    lmms = run_lmms_eval(given, work / "lmms", tasks, questions.media, port)
    right = sum(float(said == task.answer) for said, task in zip(lmms["replies"], tasks))
    figures = {"theirs": lmms["figure"], "ours": right / len(tasks)}
    return {"questions": len(tasks), **figures, "is_as_expected": bool(np.isclose(*figures.values()))}


def plain(value: object) -> object:
    return bool(value) if isinstance(value, np.bool_) else value


def hostile(questions: ExportedQuestions) -> tuple[list[str], list[float]]:
    """Replies to the first training question, and what our environment pays for each."""
    task = questions.splits["train"][0]
    right, wrong = f"<think>a look</think><answer>{task.answer}</answer>", "<think></think><answer>neither</answer>"
    replies = [
        *(right, wrong, task.answer, right + wrong, wrong + right, f"<answer>{right}</answer>", f"<think>{right}"),
        *(f"<answer>The answer is {task.answer}.</answer>", f"<answer>{task.answer.upper()}</answer>"),
        *(f"<answer>{task.answer} or another</answer>", "<answer>" * 20_000, "x" * 300_000 + right, ""),
        f"<tool_call>{{}}</tool_call>{right}",
        f"<tool_response>{task.answer}</tool_response>{right}",
    ]
    env = VisualReasoningEnv(tasks=[task], media=questions.media, protocol=direct_protocol(), tools=(), max_turns=2)
    paid = []
    for reply in replies:
        env.reset()
        paid.append(float(env.step(reply)[1]))
    return replies, paid


def trl(work: Path, questions: ExportedQuestions) -> dict:
    """TRL's own trainer on the exported rows: what is drawn is free, so a random model is paid by its reward alone."""
    from datasets import load_dataset

    rows = load_dataset("parquet", data_files=str(work / "trl" / "train.parquet"), split="train")
    answers = [task.answer for task in questions.splits["train"]]
    return trl_steps(work, rows, answers)


def gymnasium_package(work: Path) -> dict:
    import gymnasium

    sys.path.insert(0, str(work / "gymnasium"))
    env = gymnasium.make(f"saccade_{FAMILY}:saccade/{FAMILY}-v0", max_turns=2)
    env.reset(seed=0)
    right = env.unwrapped.task.answer
    _, reward, terminated, _, _ = env.step(f"<think>a look</think><answer>{right}</answer>")
    env.close()
    return {"reward": reward, "is_as_expected": reward == 1.0 and terminated}


def openenv(work: Path) -> dict:
    """The exported server in a process of its own, asked by OpenEnv's client class."""
    from saccade.interop.openenv import SaccadeEnvClient

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", f"saccade_{FAMILY}.server.app", "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(work / "openenv"), *filter(None, sys.path)])}
    server = subprocess.Popen(command, env=environment)
    try:
        for _ in range(240):
            try:
                with SaccadeEnvClient(f"http://127.0.0.1:{port}") as env:
                    shown = env.reset(seed=1).observation
                    result = env.step("<think>a look</think><answer>rows</answer>")
                    return {
                        "picture": list(shown.images[0].image().size),
                        "is_as_expected": result.done and result.reward in (0.0, 1.0) and bool(shown.messages),
                    }
            except (ConnectionError, OSError):
                time.sleep(0.5)
        return {"is_as_expected": False}
    finally:
        server.terminate()
        server.wait(60)


def openenv_client(python: Path, work: Path) -> dict:
    """OpenEnv's own client of another version at ``saccade openenv``, and the same replies in our environment."""
    work.mkdir(parents=True, exist_ok=True)
    calls = [{"seed": seed, "replies": list(replies)} for seed, replies in enumerate(EPISODES)]
    (work / "episodes.json").write_text(json.dumps(calls))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "saccade", "openenv", "--family", FAMILY, "--port", str(port)]
    server = subprocess.Popen(command)
    try:
        for _ in range(240):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.5)
        done = subprocess.run(
            [str(python), "-c", OPENENV, f"http://127.0.0.1:{port}", str(work / "episodes.json")],
            capture_output=True,
            text=True,
            timeout=300,
        )
    finally:
        server.terminate()
        server.wait(60)
    if done.returncode:
        return {"is_as_expected": False, "error": done.stderr[-2000:]}
    seen = json.loads(done.stdout.splitlines()[-1])
    here = [played_here(one["seed"], one["replies"]) for one in calls]
    equal = [
        there["shown"] == ours["shown"] and there["reward"] == ours["reward"]
        for there, ours in zip(seen["played"], here)
    ]
    return {
        "version": seen["version"],
        "episodes": len(here),
        "turns": sum(len(one["replies"]) for one in calls),
        "equal": sum(equal),
        "is_as_expected": all(equal) and all(one["done"] and not one["tells_answer"] for one in seen["played"]),
    }


def played_here(seed: int, replies: Sequence[str]) -> dict:
    """What our environment shows and pays for the same replies in this process."""
    env = VisualReasoningEnv(family=FAMILY)
    shown, _ = env.reset(seed=seed)
    texts, reward = [shown["text"]], 0.0
    for reply in replies:
        shown, reward, *_ = env.step(reply)
        texts.append(shown["text"])
    return {"shown": texts, "reward": float(reward)}


def peer(python: Path, program: str, work: Path, source: Path, expected: Sequence[float]) -> dict:
    """A trainer's own data set class and reward manager, in its own Python."""
    environment = {**os.environ, "PYTHONPATH": str(source.absolute()), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([str(python), "-c", program, str(work)], env=environment, capture_output=True, text=True)
    if done.returncode:
        return {"is_as_expected": False, "error": done.stderr[-2000:]}
    seen = json.loads(done.stdout.splitlines()[-1])
    return {**seen, "rewards_equal": seen["rewards"] == list(expected), "is_as_expected": seen["rewards"] == expected}


def verifiers_rewards(python: Path, work: Path, expected: Sequence[float]) -> dict:
    """The rubric of the package, called as verifiers calls it."""
    environment = {**os.environ, "PYTHONPATH": str(work / "verifiers")}
    done = subprocess.run(
        [str(python), "-c", VERIFIERS, str(work), f"saccade_{FAMILY}"], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        return {"is_as_expected": False, "error": done.stderr[-2000:]}
    seen = json.loads(done.stdout.splitlines()[-1])
    return {**seen, "is_as_expected": seen["rewards"] == list(expected)}


def vf_eval(python: Path, work: Path, port: int) -> dict:
    """verifiers' own evaluation of the served model: pictures as data URLs, replies by our rubric."""
    folder = work / "vf"
    folder.mkdir(exist_ok=True)
    run_logged(
        [
            *[str(python.parent / "vf-eval"), f"saccade_{FAMILY}", "-m", NAME, "-b", f"http://127.0.0.1:{port}/v1"],
            *["-k", "NO_KEY", "-n", "-1", "-r", "1", "-a", '{"bare": true}', "-d", "-s", "-o", str(folder / "out")],
            *["--disable-env-server", "-A"],
        ],
        folder,
        NO_KEY="none",
        PYTHONPATH=str(work / "verifiers"),
    )
    [results] = (folder / "out").rglob("results.jsonl")
    rewards = [json.loads(line)["reward"] for line in results.read_text().splitlines()]
    return {"questions": len(rewards), "reward": sum(rewards) / len(rewards), "is_as_expected": sum(rewards) > 0}


def saccade(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "saccade", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
