"""What sampling and learning cost with a tiny model of each family, by native kernels and without, in Markdown.

OMP_NUM_THREADS=1 python benchmarks/family_costs.py
OMP_NUM_THREADS=1 python benchmarks/family_costs.py qwen3_vl gemma3 --repeats 5

All language models have one width. Sixteen rows are sampled from one prompt with a picture; a pack of the same rows is
forwarded, and back, by the learner. The smallest CPU time of all repeats counts, per sampled token and per token of the
pack. Families take turns, and so do both ways, each in a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from typing import get_args

import torch
from engine import sample_with_engine, workload_of

from saccade.algorithms.algorithm import Aggregation
from saccade.algorithms.losses import negative_log_likelihood
from saccade.engines.local import LocalEngine
from saccade.learner.forwards import NativeForward, packed_states
from saccade.learner.logprobs import action_tokens
from saccade.learner.sequences import TrainingSequence, weighted
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.native.library import SWITCH
from saccade.waiting import run_to_end

ROWS, TOKENS = 16, 64
SIZE = {"hidden": 256, "mlp": 768, "heads": 4, "kv_heads": 2, "layers": 8, "initializer_range": 0.05}
WAYS = {"kernels": "", "torch": "0"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", default=get_args(TinyFamily))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(costs(given.families[0])))
        return
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(given.repeats):
        for family in given.families:
            for way, switch in WAYS.items():
                command = [sys.executable, __file__, "--one", family]
                done = subprocess.run(command, env=os.environ | {SWITCH: switch}, check=True, stdout=subprocess.PIPE)
                found.setdefault(f"{family} {way}", []).append(json.loads(done.stdout))
    print(as_markdown(given.families, found))


def costs(family: TinyFamily) -> dict[str, float]:
    """CPU milliseconds a token of one process, and whether the native kernels were in use."""
    torch.set_num_threads(1)
    size = TinySize(**SIZE)
    texts = ["What is written on the red plate? Look closer with the tool, then answer in one word."] * 3
    model = tiny_model(texts, MediaStore(), family=family, size=size, seed=1)
    workload = workload_of(model, rows=ROWS, group=ROWS, turns=1, tokens=TOKENS)
    engine, pack = LocalEngine(model), sequences_of(model, workload.prompts[0].ids, workload.prompts[0].images)
    sampled = cpu_s(lambda: run_to_end(sample_with_engine(engine, workload)))
    learned = cpu_s(lambda: negative_log_likelihood(action_tokens(model, pack, temperature=1.0)).value.backward())
    prompt = len(workload.prompts[0].ids)
    return {
        "sampled": 1000 * sampled / (ROWS * TOKENS),
        "learned": 1000 * learned / (prompt + ROWS * TOKENS),
        "kernels": isinstance(packed_states(model), NativeForward),
    }


def sequences_of(model: VisionLanguageModel, prompt: tuple[int, ...], images: tuple) -> list[TrainingSequence]:
    """A row of other tokens each, behind the prompt that all share."""
    draws = torch.Generator().manual_seed(0)
    rows = torch.randint(10, 200, (ROWS, TOKENS), generator=draws).tolist()
    return weighted(
        [
            TrainingSequence(
                ids=(*prompt, *row),
                is_action=(*(False for _ in prompt), *(True for _ in row)),
                images=tuple(images),
                prompt_tokens=len(prompt),
                prompt_images=len(images),
                sampled_logprobs=(-1.0,) * TOKENS,
                advantages=(1.0,) * TOKENS,
                token_weight=1.0,
            )
            for row in rows
        ],
        Aggregation(),
    )


def cpu_s(run, repeats: int = 3) -> float:
    """The least of some repeats, after one that warms up."""
    run()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def as_markdown(families: list[TinyFamily], found: dict[str, list[dict[str, float]]]) -> str:
    lines = ["| family | ms a sampled token | by torch | ms a learned token | by torch |", "|---|---|---|---|---|"]
    for family in families:
        ways = [found[f"{family} {way}"] for way in WAYS]
        cells = [f"{min(one[what] for one in way):.2f}" for what in ("sampled", "learned") for way in ways]
        if not ways[0][0]["kernels"]:
            cells[0] = cells[2] = "-"
        lines.append(f"| {family} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
