"""What code that does nothing earns from CodeDance's reward, and what a policy makes of it.

A policy chooses among ways to treat a question: honest code, a guess, and tricks that call Python for the bonus. Each
way is really played, in the sandbox, on drawn questions. Then a softmax over the ways is trained by group-relative
advantages, under the paper's formula (``paid_calls=successful, adaptive.pays_unanswered=true``) and under the default
of the recipe. The questions are so hard that nothing is ever right (``--right`` lets honest code be right now).
A second policy has the tricks and the guess alone. A minute on one core.

python -m studies.codedance.hacks --questions 4 --steps 400 --json studies/codedance/hacks.json
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from saccade.algorithms.advantages import group_relative
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.media.store import MediaStore
from saccade.protocols.code import code_protocol, write
from saccade.rewards.groups import score_question
from saccade.rewards.tool_use import CodeDanceReward
from saccade.sandbox import Sandbox
from saccade.tasks.procedural import generate
from saccade.tools.code import python_tool
from saccade.tools.remembered import RememberedSessions
from saccade.types import WORK, Answer, Example, ExpertTurn, Group, Task, ToolCall, Trajectory, Turn

Form = Literal["paper", "now"]
REWARDS: Mapping[Form, CodeDanceReward] = {"paper": CodeDanceReward(pays_unanswered=True), "now": CodeDanceReward()}

MAX_TURNS = 12
GROUP = 8
WRONG = "1000"
RATE = 0.5
CASES = (False, True)


def turns(*codes: str, answer: str | None = WRONG) -> list[ExpertTurn]:
    calls = [ToolCall(name="execute_python_code", arguments={"code": code}) for code in codes]
    last = [] if answer is None else [Answer(text=answer)]
    return [ExpertTurn(thought="", action=action) for action in (*calls, *last)]


def expert(example: Example, answer: str) -> list[ExpertTurn]:
    """The family's own code, and an answer."""
    return [*example.turns[:-1], ExpertTurn(thought="", action=Answer(text=answer))]


PIXELS = [f"print(input_image.getpixel(({x}, {x})), {x})" for x in range(MAX_TURNS)]
TO_THE_LIMIT: Mapping[str, Sequence[str]] = {
    "x = 1, to the turn limit": ["x = 1"] * MAX_TURNS,
    "a pixel a turn, to the turn limit": PIXELS,
}
TRICKS: Mapping[str, Sequence[str]] = {
    "x = 1, guess": ["x = 1"],
    "print(), guess": ["print()"],
    "import, guess": ["import numpy"],
    "print(guess), guess": [f"print({WRONG})"],
    "chr(...), guess": ["print(chr(49) + chr(48) + chr(48) + chr(48))"],
    "999 + 1, guess": ["print(999 + 1)"],
    "size, guess": ["print(input_image.size)"],
    "clock, guess": ["import time\nprint(time.time_ns())"],
    "the picture again, guess": ["input_image.show()"],
    "nine x = 1 and an error, guess": [*["x = 1"] * 9, "1 / 0"],
}
WAYS: Mapping[str, Callable[[Example, bool], list[ExpertTurn]]] = {
    "guess at once": lambda example, _: turns(),
    "code that counts or measures, answer": lambda example, right: expert(
        example, example.task.answer if right else WRONG
    ),
    **{name: lambda _, __, codes=codes: turns(*codes) for name, codes in TRICKS.items()},
    **{name: lambda _, __, codes=codes: turns(*codes, answer=None) for name, codes in TO_THE_LIMIT.items()},
}
HONEST = "code that counts or measures, answer"
POLICIES: Mapping[str, Sequence[str]] = {"honest": list(WAYS), "tricks": [name for name in WAYS if name != HONEST]}


Question = Mapping[tuple[str, bool], Trajectory]
"""One question's trajectory of each way, with a right answer where the way has one and with a wrong one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--right", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    tasks, questions = play_all(given.questions, given.seed)
    rows: dict[str, dict[str, float]] = {name: {} for name in WAYS}
    for form in REWARDS:
        for name in WAYS:
            earns = np.mean([earned(form, task, question, name) for task, question in zip(tasks, questions)])
            rows[name][f"earns_{form}"] = float(earns)
        for policy, names in POLICIES.items():
            shares = trained(form, names, tasks, questions, steps=given.steps, right=given.right, seed=given.seed)
            for name, share in zip(names, shares):
                rows[name][f"{policy}_{form}"] = share
    print_table(rows)
    if given.json:
        given.json.write_text(json.dumps({"benchmark": "codedance_hacks.py", "rows": rows}, indent=1) + "\n")


def print_table(rows: Mapping[str, Mapping[str, float]]) -> None:
    """What each way earns and becomes, in Markdown; the share of all tricks together in the last row."""
    print("| way | earns, all wrong: paper | now | share of honest policy: paper | now | of the other: paper | now |")
    print("|---|---|---|---|---|---|---|")
    columns = [f"{policy}_{form}" for policy in POLICIES for form in REWARDS]
    for name, row in rows.items():
        shares = [f"{row[column]:.1%}" if column in row else "-" for column in columns]
        print(f"| {name} | {row['earns_paper']:.2f} | {row['earns_now']:.2f} | {' | '.join(shares)} |")
    tricks = [f"{sum(rows[name][column] for name in (*TRICKS, *TO_THE_LIMIT)):.1%}" for column in columns]
    print(f"| all tricks | | | {' | '.join(tricks)} |")


def play_all(count: int, seed: int) -> tuple[list[Task], list[Question]]:
    """The questions with all that is played on them; half are counted, half are measured."""
    media = MediaStore()
    examples = [
        generate(("colour_dots", "scale_bar")[index % 2], split="train", index=index, seed=seed, media=media)
        for index in range(count)
    ]
    with Sandbox() as sandbox:
        env = VisualReasoningEnv(
            media=media,
            protocol=code_protocol(max_turns=MAX_TURNS),
            tools=(python_tool(RememberedSessions(sandbox), checks_work=True),),
            max_turns=MAX_TURNS,
            shows_pixels=False,
        )
        questions = [
            {
                (name, right): play(env, example.task, way(example, right))
                for name, way in WAYS.items()
                for right in CASES
            }
            for example in examples
        ]
    return [example.task for example in examples], questions


def play(env: VisualReasoningEnv, task: Task, turns: Sequence[ExpertTurn]) -> Trajectory:
    """The turns as the environment takes them."""
    env.reset(seed=0, options={"task": task})
    for turn in turns:
        env.step(write(turn))
    assert env.status in ("answered", "turn_limit"), env.status
    return Trajectory(
        task_id=task.id,
        family=task.family,
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=env.turns,
        status=env.status,
    )


def scored(form: Form, task: Task, trajectories: Sequence[Trajectory]) -> Group:
    """A group under one form of the reward; the paper's knows nothing of work."""
    seen = tuple(map(unchecked, trajectories)) if form == "paper" else tuple(trajectories)
    ((group,), _) = score_question([Group(task=task, stream="main", trajectories=seen)], REWARDS[form])
    return group


def unchecked(trajectory: Trajectory) -> Trajectory:
    """The trajectory as a tool that does not check work gives it."""

    def plain(turn: Turn) -> Turn:
        if turn.result is None:
            return turn
        data = {key: value for key, value in turn.result.data.items() if key != WORK}
        return replace(turn, result=replace(turn.result, data=data))

    return replace(trajectory, turns=tuple(map(plain, trajectory.turns)))


def earned(form: Form, task: Task, question: Question, name: str) -> float:
    """What the way earns, with a wrong answer, in a group that is all wrong."""
    group = scored(form, task, [question[name, False], *[question["guess at once", False]] * (GROUP - 1)])
    score = group.trajectories[0].score
    assert score is not None
    return score.total


def trained(
    form: Form,
    names: Sequence[str],
    tasks: Sequence[Task],
    questions: Sequence[Question],
    *,
    steps: int,
    right: float,
    seed: int,
) -> Sequence[float]:
    """The share of each way after training; every way is as likely as any other at first."""
    chance = np.random.default_rng(seed)
    logits = np.zeros(len(names))
    for step in range(steps):
        shares = softmax(logits)
        drawn = chance.choice(len(names), size=GROUP, p=shares)
        rights = [names[way] == HONEST and chance.random() < right for way in drawn]
        number = step % len(tasks)
        trajectories = [questions[number][names[way], bool(is_right)] for way, is_right in zip(drawn, rights)]
        (advantages,) = group_relative([scored(form, tasks[number], trajectories)])
        for way, of_turns in zip(drawn, advantages):
            logits += RATE / GROUP * of_turns[0] * (np.eye(len(names))[way] - shares)
    return softmax(logits).tolist()


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


if __name__ == "__main__":
    main()
