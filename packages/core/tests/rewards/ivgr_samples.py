"""A drawn question whose every object is known, and trajectories that the real protocols read from text."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.geometry import Box
from saccade.protocols.two_streams import grounded_protocol, textual_protocol
from saccade.rewards.groups import score_question
from saccade.rewards.judges.consistency import NO_VERDICT, Reference, Verdict
from saccade.rewards.reward import GroupReward
from saccade.types import Answer, Group, ImageRef, Json, SceneObject, Score, Target, Task, Trajectory, Turn

RED, BLUE = Box(8, 8, 56, 56), Box(200, 200, 248, 248)
HALF_RED = Box(8, 8, 56, 32)

TASK = Task(
    id="plates/7",
    family="plates",
    question="Which mark is on the red plate?",
    answer="white",
    answer_kind="exact",
    images=(ImageRef(hash="0" * 64, width=256, height=256),),
    targets=(Target(label="red plate", box=RED, point=RED.center),),
    objects=(
        SceneObject(name="red", box=RED, attributes={"place": "top leftmost", "mark": "white"}),
        SceneObject(name="blue", box=BLUE, attributes={"place": "bottom rightmost", "mark": "black"}),
    ),
)
UNTARGETED = replace(TASK, id="plain/1", targets=(), objects=())

GROUNDED = grounded_protocol(style="brief")
TEXTUAL = textual_protocol(style="brief")


def tag(*boxes: Box) -> str:
    return "".join(f"<box>[{','.join(f'{side:g}' for side in box.as_tuple())}]</box>" for box in boxes)


def grounded(thought: str, answer: str = "white", *, sample: int = 0, task: Task = TASK) -> Trajectory:
    """A trajectory whose boxes are already in pixels."""
    return _read(GROUNDED.parse, "grounded", f"<think>{thought}</think><answer>{answer}</answer>", sample, task)


def textual(thought: str, answer: str = "white", *, sample: int = 0, task: Task = TASK) -> Trajectory:
    return _read(TEXTUAL.parse, "textual", f"<think>{thought}</think><answer>{answer}</answer>", sample, task)


def _read(parse, stream: str, text: str, sample: int, task: Task) -> Trajectory:
    parsed = parse(text)
    turn = Turn(
        index=0,
        text=text,
        thought=parsed.thought,
        action=parsed.action,
        is_well_formed=parsed.is_well_formed,
        boxes=parsed.boxes,
    )
    return Trajectory(
        task_id=task.id,
        family=task.family,
        stream=stream,
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered" if isinstance(parsed.action, Answer) else "turn_limit",
    )


def scored(
    reward: GroupReward, *trajectories: Trajectory, memory: Json = None, task: Task = TASK
) -> tuple[Mapping[str, Sequence[Score | None]], Json]:
    """The scores by stream, and what is remembered, as the trainer asks for them."""
    streams = list(dict.fromkeys(one.stream for one in trajectories))
    groups = [
        Group(task=task, stream=name, trajectories=tuple(one for one in trajectories if one.stream == name))
        for name in streams
    ]
    found, remembered = score_question(groups, reward, memory)
    return {group.stream: [one.score for one in group.trajectories] for group in found}, remembered


@dataclass(frozen=True)
class FixedJudge:
    """Says what it is told to say of each text; it has no verdict on others, and ends with them."""

    by_text: Mapping[str, Verdict]

    async def __call__(self, task: Task, reference: Reference, target: str, /) -> Verdict:
        await asyncio.sleep(0)
        return self.by_text.get(target, NO_VERDICT)
