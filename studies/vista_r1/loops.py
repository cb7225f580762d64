"""What loops earn: a policy that has learned to write them, reinforced with VISTA's reward, for several seeds.

Experts end half of their thoughts in loops without spaces, without full stops, or with numbers that count; nothing else
about these trajectories is wrong. Each loop is a single token for the tiny model, so that writing one costs nothing.
Reinforcement then has the paper's reward: where the rule finds the loop, it costs points, and where not, nothing.
There are no tools here: the reward reads what the model writes, whatever it calls.

python -m studies.vista_r1.loops --seeds 0 1 2 --json studies/vista_r1/loops.json

The same with ``src/saccade/rewards/repetition.py`` of an earlier commit says what loops earned then.
"""

import statistics
from collections.abc import Sequence
from pathlib import Path

from studies.seed_runs import Row, Variants, arguments_of, directory_of, imitation_of, run_all, train, write_results

from saccade.miniature.gym_lessons import LOOPS
from saccade.rewards.repetition import repetition
from saccade.rewards.vista import PENALTIES, vista_terms
from saccade.runs.records import read_records
from saccade.types import Score

BASE = "imitation"
HERE = ("with_tools=false", "lessons.loop_share=0.5", "lessons.careless_from=0.3")
VARIANTS: Variants = {
    BASE: (*HERE, "stages=sft", "sft.steps=300", "sft.checkpoint_every=300", "sft_questions=1400"),
    "reinforcement": (*HERE, "stages=rl", "rl.steps=40"),
}
SHOWN = (1, 5, 10, 20, 30, 40)


def main() -> None:
    arguments = arguments_of(__doc__, VARIANTS, shown=list(VARIANTS), out=Path("runs/vista_loops"))
    earned = {loop[:40]: reward_of(loop) for loop in LOOPS}
    for loop, reward in earned.items():
        print(f"{reward:+.1f} for a right answer with: {loop}")
    rows = run_all(run, arguments, VARIANTS, base=BASE)
    print(table(rows))
    if arguments.json:
        write_results(arguments.json, rows, earned=earned)


def reward_of(thought: str) -> float:
    """Of a right answer in good form with this thought."""
    penalty = PENALTIES[repetition(f"<think>{thought}</think><answer>red</answer>").level]
    return Score(terms=vista_terms(penalty=penalty, is_formatted=True, is_right=True)).total


def run(variant: str, seed: int, out: Path, threads: int, settings: list[str]) -> Row:
    directory = directory_of(variant, seed, out)
    start = None if variant == BASE else imitation_of(directory_of(BASE, seed, out))
    report = train("vista_r1:tiny", seed, directory, settings, threads=threads, start=start)
    steps = sorted((directory / "trajectories" / "rl").glob("step-*.jsonl"))
    return {"wall_s": report["wall_s"], "training": [told(path) for path in steps]}


def told(path: Path) -> Row:
    """A step's share of trajectories with a loop, and the mean rewards of those and of the others."""
    with_loop: list[float] = []
    without: list[float] = []
    for attempt in read_records(path):
        if attempt.trajectory.score is not None:
            loops = any(loop in turn.text for turn in attempt.trajectory.turns for loop in LOOPS)
            (with_loop if loops else without).append(attempt.trajectory.score.total)
    return {
        "step": int(path.stem.removeprefix("step-")),
        "share": len(with_loop) / max(1, len(with_loop) + len(without)),
        "with_loop": statistics.mean(with_loop) if with_loop else None,
        "without": statistics.mean(without) if without else None,
    }


def table(rows: Sequence[Row]) -> str:
    curves = [row["training"] for row in rows if row["variant"] != BASE]
    lines = ["| | " + " | ".join(f"step {step}" for step in SHOWN) + " |", "|---" * (1 + len(SHOWN)) + "|"]
    for label, key in (
        ("trajectories with a loop", "share"),
        ("reward with a loop", "with_loop"),
        ("reward without", "without"),
    ):
        cells = []
        for step in SHOWN:
            values = [point[key] for curve in curves for point in curve if point["step"] == step]
            given = [value for value in values if value is not None]
            cells.append(f"{statistics.mean(given):.2f}" if given else "-")
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
