"""Any reward of ours as a tool ``verify`` of ``saccade serve``: from pictures and a response to the parts of a score.

    [server]
    builder = "saccade.interop.verifier_tool:build"

    [tools.verify]
    reward = "my_verifier.py:make"    # def make(media: MediaStore) -> a reward; pictures are in that store
    serving = {workers = 1}

Images, limits, the token, deadlines and errors are those of every tool service (docs/services.md). A machine that fails
gives a score of null, never 0.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from PIL import Image

from saccade.errors import ToolError, UserError
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.own_code import module_of_file, named_in
from saccade.protocols.coordinates import is_number
from saccade.protocols.pointed import pointed_protocol
from saccade.rewards.groups import scored_alone
from saccade.rewards.responses import response_of
from saccade.rewards.reward import GroupReward, reward_file
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.schema import spec_of
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import AnswerKind, Json, Score, Target, Task

NAME = "verify"
DEADLINE_S = 120.0
MAX_RESPONSE_CHARS = 65_536
"""More than the recipe's 6,144 tokens have."""
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
        images: list[Image.Image],
        question: Annotated[str, "what was asked"],
        answer: Annotated[str, "the right answer"],
        response: Annotated[
            str, "the turn, <think>your reasoning</think><answer>your answer</answer>, points in pixels of the image"
        ],
        answer_kind: Annotated[AnswerKind, "how answers are compared"] = "exact",
        choices: Annotated[str, "a JSON list of the options, in the order of their letters"] = "[]",
        tolerance: Annotated[float, "relative tolerance of a number"] = 0.0,
        labels: Annotated[str, "a JSON list of the names of known things"] = "[]",
        boxes: Annotated[list[Box] | None, "their boxes, for rewards that know regions by them"] = None,
        box_images: Annotated[str, "a JSON list of the numbers, from 1, of the images that they are on"] = "[]",
        frame_times_s: Annotated[str, "a JSON list of the images' times in seconds, where they are a video"] = "[]",
        family: Annotated[str, "kind of picture, which may choose the scorers, such as chart"] = "asked",
    ) -> ToolOutput:
        """Score a response to a question about images, part by part."""
        times = _numbers("frame_times_s", frame_times_s)
        if times and len(times) != len(images):
            raise ToolError(f"frame_times_s has {len(times)} times for {len(images)} images; give each its own")
        with media.temporary():
            asked = Task(
                id="asked",
                family=family,
                question=question,
                answer=answer,
                answer_kind=answer_kind,
                images=tuple(map(media.add, images)),
                choices=_texts("choices", choices),
                tolerance=tolerance,
                targets=_targets(_texts("labels", labels), boxes or [], _numbers("box_images", box_images), images),
                frame_times_s=times,
            )
            found = scored_alone(asked, response_of(asked, [response], protocol), reward)
        return ToolOutput(text=_verdict_text(found), data=parts_of(found))

    tool = tool_from(verify, deadline_s=DEADLINE_S)
    parameters = tuple(
        replace(one, max_chars=MAX_RESPONSE_CHARS) if one.name == "response" else one for one in tool.parameters
    )
    return replace(tool, parameters=parameters, spec=spec_of(verify, parameters))


def parts_of(found: Score | str) -> dict[str, Json]:
    """The parts of a score as JSON; ``score`` is null where the machine failed, and ``failure`` says why."""
    if isinstance(found, str):
        return {"score": None, "failure": found}
    return {
        "score": found.total,
        "is_right": found.is_right,
        "parts": {
            one.name: {"value": one.value, "weight": one.weight, "filled_from": one.filled_from} for one in found.terms
        },
        "notes": dict(found.notes),
        "evidence": dict(found.evidence),
    }


def _verdict_text(found: Score | str) -> str:
    if isinstance(found, str):
        return f"no verdict: {found}"
    return f"{found.total:.3f}: " + ", ".join(f"{one.name} {one.value:.3f}" for one in found.terms)


def _json_list(name: str, text: str) -> list[object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{name} is no JSON list") from error
    if not isinstance(found, list):
        raise ToolError(f"{name} is no JSON list")
    return found


def _texts(name: str, text: str) -> tuple[str, ...]:
    found = _json_list(name, text)
    texts = tuple(one for one in found if isinstance(one, str))
    if len(texts) < len(found):
        raise ToolError(f"{name} must be a JSON list of texts")
    return texts


def _numbers(name: str, text: str) -> tuple[float, ...]:
    found = _json_list(name, text)
    numbers = tuple(float(one) for one in found if isinstance(one, int | float) and is_number(one))
    if len(numbers) < len(found):
        raise ToolError(f"{name} must be a JSON list of numbers")
    return numbers


def _targets(
    names: Sequence[str], boxes: Sequence[Box], on: Sequence[float], images: Sequence[Image.Image]
) -> tuple[Target, ...]:
    if len(names) != len(boxes):
        raise ToolError(f"labels must be a JSON list of as many names as there are boxes, {len(boxes)}")
    places = on or [1.0] * len(boxes)
    if len(places) != len(boxes) or not all(one.is_integer() and 1 <= one <= len(images) for one in places):
        raise ToolError(f"box_images must have a number from 1 to {len(images)} for each of {len(boxes)} boxes")
    return tuple(
        Target(label=name, box=box, point=box.center, image_index=int(place) - 1)
        for name, box, place in zip(names, boxes, places)
    )
