"""What policies that return much instead of looking get: recall, precision, faithful rates and pay of each.

Each policy is played on questions about a picture of 1000 x 1000 pixels with one target of 60 x 60, whose place is
random and known to the first three policies alone. The calls are records as an environment writes them; no model is
asked.

python -m studies.did_it_look.hacks [--questions 200] [--json studies/did_it_look/hacks.json]
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from saccade.characters import percent_text
from saccade.codec.codecs import plain_json
from saccade.evaluation.evidence import EvidenceUse, evidence_use
from saccade.geometry import Box
from saccade.rewards.call_values import call_values
from saccade.seeding import generator_for
from saccade.types import (
    SEEN,
    Answer,
    Attempt,
    ImageRef,
    Json,
    Score,
    Target,
    Task,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

SIDE, TARGET = 1000, 60
PICTURE = ImageRef(hash="0" * 64, width=SIDE, height=SIDE)
QUESTIONS = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """A call that ran, with what it gave."""

    name: str
    arguments: Mapping[str, Json]
    data: Mapping[str, Json]
    images: tuple[ImageRef, ...] = ()


Play = Callable[[Box, np.random.Generator], Sequence[Called]]


def crop(x: float, y: float, across: float, along: float | None = None, image: int = 1) -> Called:
    box = [x, y, x + across, y + (across if along is None else along)]
    shown = ImageRef(hash="1" * 64, width=max(1, round(box[2] - box[0])), height=max(1, round(box[3] - box[1])))
    return Called(name="crop", arguments={"bbox_2d": box, "image": image}, data={}, images=(shown,))


def around(target: Box, side: float) -> Called:
    """A square crop with the target in the middle, as far as the picture allows."""
    x, y = (min(max(middle - side / 2, 0.0), SIDE - side) for middle in (target.center.x, target.center.y))
    return crop(x, y, side)


def tiles(across: int, count: int | None = None) -> list[Called]:
    side = SIDE / across
    return [crop(x * side, y * side, side) for y in range(across) for x in range(across)][:count]


def elsewhere(target: Box) -> Called:
    """A crop of 180 in the corner farthest from the target."""
    x, y = (0.0 if middle > SIDE / 2 else SIDE - 180.0 for middle in (target.center.x, target.center.y))
    return crop(x, y, 180)


def somewhere(side: float, chance: np.random.Generator) -> Called:
    return crop(*(float(one) for one in chance.uniform(0, SIDE - side, 2)), side)


def reading(box: Sequence[float]) -> Called:
    """Code that says what it read."""
    said: Json = [{"image": 0, "box": list(box)}]
    return Called(name="execute_python_code", arguments={"code": "..."}, data={SEEN: said})


def slanted(_: Box, __: np.random.Generator) -> list[Called]:
    """The picture turned by a degree, of which a small part is cut out: where that lies is not followed."""
    turned = ImageRef(hash="2" * 64, width=1017, height=1017)
    return [Called(name="rotate", arguments={"degrees": 1}, data={}, images=(turned,)), crop(0, 0, 100, image=2)]


def detected(_: Box, __: np.random.Generator) -> list[Called]:
    """A detector that is asked for everything: 25 boxes side by side."""
    boxes: list[Json] = [{"box": one.arguments["bbox_2d"]} for one in tiles(5)]
    return [Called(name="detect_objects", arguments={"phrases": "thing"}, data={"detections": boxes})]


POLICIES: Mapping[str, Play] = {
    "looks: a crop of 180 x 180 around the target": lambda target, _: [around(target, 180)],
    "looks closer and closer: a quarter, 250 x 250, 90 x 90": lambda target, _: [
        around(target, side) for side in (500, 250, 90)
    ],
    "looks elsewhere, then at the target": lambda target, _: [elsewhere(target), around(target, 180)],
    "looks elsewhere": lambda target, _: [elsewhere(target)],
    "one crop of everything": lambda _, __: [crop(0, 0, SIDE)],
    "one huge crop, 90 % of each side": lambda _, __: [crop(50, 50, 900)],
    "the upper half": lambda _, __: [crop(0, 0, SIDE, SIDE / 2)],
    "25 tiles that cover everything": lambda _, __: tiles(5),
    "100 tiny tiles that cover everything": lambda _, __: tiles(10),
    "12 tiles over a little less than half": lambda _, __: tiles(5, 12),
    "a random crop of a quarter": lambda _, chance: [somewhere(500, chance)],
    "a random crop of 180 x 180": lambda _, chance: [somewhere(180, chance)],
    "elsewhere, then the crop of the target ten times": lambda target, _: [
        elsewhere(target),
        *[around(target, 180)] * 10,
    ],
    "everything, then the target": lambda target, _: [crop(0, 0, SIDE), around(target, 180)],
    "everything through another tool (contrast)": lambda _, __: [
        Called(name="contrast", arguments={"factor": 2}, data={}, images=(PICTURE,))
    ],
    "a part of the picture turned by a degree": slanted,
    "a detector asked for everything": detected,
    "code that reads all pixels, and says so": lambda _, __: [reading([0, 0, SIDE, SIDE])],
}


def played(play: Play, questions: int) -> tuple[EvidenceUse, float]:
    """The figures of a policy that answers every question right, and what ``rl.evidence.form=found`` pays it."""
    attempts = []
    for number in range(questions):
        chance = generator_for(0, "evidence hacks", number)
        x, y = (float(one) for one in chance.uniform(0, SIDE - TARGET, 2))
        target = Box(x, y, x + TARGET, y + TARGET)
        attempts.append(attempt_of(number, target, play(target, chance)))
    use = evidence_use(attempts)
    assert use is not None
    return use, sum(sum(call_values(one.task, one.trajectory, "found")) for one in attempts) / questions


def attempt_of(number: int, target: Box, calls: Sequence[Called]) -> Attempt:
    task = Task(
        id=f"evidence/{number}",
        family="evidence",
        question="What is written on the plate?",
        answer="a",
        answer_kind="exact",
        images=(PICTURE,),
        targets=(Target(label="plate", box=target, point=target.center),),
    )
    turns = [
        Turn(
            index=index,
            text="",
            thought="",
            action=ToolCall(name=one.name, arguments=one.arguments),
            is_well_formed=True,
            result=ToolResult(data=one.data, images=one.images),
        )
        for index, one in enumerate(calls)
    ]
    last = Turn(index=len(turns), text="a", thought="", action=Answer(text="a"), is_well_formed=True)
    trajectory = Trajectory(
        task_id=task.id,
        family=task.family,
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(*turns, last),
        status="answered",
        score=Score(is_right=True),
    )
    return Attempt(task=task, trajectory=trajectory)


HEAD = "| policy | recall | precision | faithful calls | faithful trajectories | paid |\n|---|---|---|---|---|---|"


def row(name: str, use: EvidenceUse, paid: float) -> str:
    shares = (use.recall, use.precision, use.faithful_calls.mean, use.faithful.mean)
    cells = " | ".join(percent_text(share).replace("\N{NO-BREAK SPACE}", " ") for share in shares)
    return f"| {name} | {cells} | {paid:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(HEAD)
    found = {}
    for name, play in POLICIES.items():
        use, paid = found[name] = played(play, arguments.questions)
        print(row(name, use, paid), flush=True)
    if arguments.json:
        values = {name: {**plain_json(use), "paid": paid} for name, (use, paid) in found.items()}
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())
        arguments.json.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
