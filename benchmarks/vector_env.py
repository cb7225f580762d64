"""Turns per second of vector environments: ours (threads), Gymnasium's sync and async, with a quick and a waiting tool.

    python benchmarks/vector_env.py [--envs 8] [--steps 40] [--json FILE]

``crop`` works for about a millisecond; ``asked`` waits 50 ms, as a tool at a server or a model does. Every environment
calls its tool in every step; pictures of the observations are made and handed over in all of them. Each figure is the
median of three runs that take turns.
"""

import argparse
import json
import os
import statistics
import time
import warnings
from pathlib import Path

import gymnasium

import saccade.envs
from saccade.media.store import MediaStore
from saccade.testing import TINY_VIEW, tiny_example
from saccade.tools.images import crop
from saccade.tools.tool import tool_from

MODES = ("ours", "sync", "async")
WAIT_S = 0.05


def asked(question: str) -> str:
    """Ask somebody who takes 50 ms."""
    time.sleep(WAIT_S)
    return question


TURNS = {
    "crop": '<think>a</think><tool_call>{"name":"crop","arguments":{"bbox_2d":[0,0,500,500]}}</tool_call>',
    "asked": '<think>a</think><tool_call>{"name":"asked","arguments":{"question":"why"}}</tool_call>',
}


def turns_per_s(mode: str, turn: str, *, envs: int, steps: int) -> float:
    media = MediaStore()
    tasks = [tiny_example(media, index).task for index in range(4)]
    settings = {
        "tasks": tasks,
        "media": media,
        "tools": [tool_from(crop), tool_from(asked)],
        "view": TINY_VIEW,
        "max_turns": steps + 2,
    }
    options = {} if mode == "ours" else {"vectorization_mode": mode}
    if mode == "async":
        options["vector_kwargs"] = {"shared_memory": False}
    env = gymnasium.make_vec(saccade.envs.VISUAL_REASONING_ID, envs, **options, **settings)
    env.reset(seed=0)
    env.step([turn] * envs)
    started = time.perf_counter()
    for _ in range(steps):
        env.step([turn] * envs)
    took_s = time.perf_counter() - started
    env.close()
    return envs * steps / took_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)
    measured: dict[str, dict[str, list[float]]] = {tool: {mode: [] for mode in MODES} for tool in TURNS}
    for _ in range(3):
        for tool, turn in TURNS.items():
            for mode in MODES:
                measured[tool][mode].append(turns_per_s(mode, turn, envs=given.envs, steps=given.steps))
    medians = {
        tool: {mode: round(statistics.median(values), 1) for mode, values in by_mode.items()}
        for tool, by_mode in measured.items()
    }
    for tool, by_mode in medians.items():
        print(f"{tool:8}" + "".join(f"{mode} {value:9,.1f}/s   " for mode, value in by_mode.items()))
    if given.json:
        record = {
            "command": f"python benchmarks/vector_env.py --envs {given.envs} --steps {given.steps}",
            "date": time.strftime("%Y-%m-%d"),
            "cores": os.cpu_count(),
            "load_at_end": round(os.getloadavg()[0], 1),
            "turns_per_s": medians,
            "all_runs": measured,
        }
        given.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
