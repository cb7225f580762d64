"""Any reward of ours as a tool ``verify`` of ``saccade serve``: from a picture and a response to the parts of a score.

    [server]
    builder = "saccade.interop.verifier_tool:build"

    [tools.verify]
    reward = "my_verifier.py:make"    # def make(media: MediaStore) -> a reward; pictures are in that store
    serving = {workers = 1}

Images, limits, the token, deadlines and errors are those of every tool service (docs/services.md). A machine that fails
gives a score of null, never 0.
"""

import json
from pathlib import Path
from typing import Annotated

from PIL import Image

from saccade.errors import ToolError, UserError
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.own_code import module_of_file, named_in
from saccade.protocols.pointed import pointed_protocol
from saccade.rewards.groups import score_question
from saccade.rewards.responses import response_of
from saccade.rewards.reward import GroupReward, reward_file
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import AnswerKind, Group, Json, Score, Target, Task

NAME = "verify"
DEADLINE_S = 120.0
_OPTIONS = ("reward",)


def build(settings: ToolSettings, folder: Path) -> Tool:
    """The tool of ``[tools.verify]``; UserError for another name, and where its reward cannot be made."""
    where = f"[tools.{settings.name}]"
    name = settings.options.get("reward")
    if settings.name != NAME:
        raise UserError(f"{where}: this builder makes only the tool {NAME}")
    if unknown := sorted(set(settings.options) - set(_OPTIONS)):
        raise UserError(f"{where} has the unknown key {unknown[0]!r}; known is {', '.join(_OPTIONS)}")
    if not isinstance(name, str):
        raise UserError(f'{where}: reward={name!r} must name a function of one argument, as "my_verifier.py:make"')
    module = module_of_file(folder / reward_file(name), what="reward")
    make = named_in(module, name.rpartition(":")[2], name, what="reward", parameters=1)
    media = MediaStore()
    reward = make(media) if callable(make) else None
    if not (isinstance(reward, GroupReward) or callable(reward)):
        raise UserError(f"{where}: {name} made {type(reward).__name__}, which is no reward")
    protocol = pointed_protocol()

    def verify(
        image: Image.Image,
        question: Annotated[str, "what was asked"],
        answer: Annotated[str, "the right answer"],
        response: Annotated[str, "the turn, <think>…</think><answer>…</answer>, points in pixels of the image"],
        answer_kind: Annotated[AnswerKind, "how answers are compared"] = "exact",
        labels: Annotated[str, "a JSON list of the names of known things"] = "[]",
        boxes: Annotated[list[Box] | None, "their boxes, for rewards that know regions by them"] = None,
    ) -> ToolOutput:
        """Score a response to a question about an image, part by part."""
        with media.temporary():
            targets = _targets(labels, boxes or [])
            asked = Task(
                id="asked",
                family="asked",
                question=question,
                answer=answer,
                answer_kind=answer_kind,
                images=(media.add(image),),
                targets=targets,
            )
            read = response_of(asked, [response], protocol)
            ((group,), _) = score_question([Group(task=asked, stream="main", trajectories=(read,))], reward)
        [scored] = group.trajectories
        return ToolOutput(text=_told(scored.score, scored.failure), data=parts_of(scored.score, scored.failure))

    return tool_from(verify, deadline_s=DEADLINE_S)


def parts_of(score: Score | None, failure: str) -> dict[str, Json]:
    """The parts of a score as JSON; ``score`` is null where the machine failed, and ``failure`` says why."""
    if score is None:
        return {"score": None, "failure": failure}
    return {
        "score": score.total,
        "is_right": score.is_right,
        "parts": {
            one.name: {"value": one.value, "weight": one.weight, "filled_from": one.filled_from} for one in score.terms
        },
        "notes": dict(score.notes),
        "evidence": dict(score.evidence),
    }


def _told(score: Score | None, failure: str) -> str:
    if score is None:
        return f"no verdict: {failure}"
    return f"{score.total:.3f}: " + ", ".join(f"{one.name} {one.value:.3f}" for one in score.terms)


def _targets(labels: str, boxes: list[Box]) -> tuple[Target, ...]:
    try:
        names = json.loads(labels)
    except (ValueError, RecursionError) as error:
        raise ToolError("labels is no JSON list of names") from error
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names) or len(names) != len(boxes):
        raise ToolError(f"labels must be a JSON list of as many names as there are boxes, {len(boxes)}")
    return tuple(Target(label=name, box=box, point=box.center) for name, box in zip(names, boxes))
