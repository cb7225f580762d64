"""Prompts of CodeDance's curation (its appendix 7.2), in our own words, and the strict reading of a checker's replies.

What is not clearly a verdict is none.
"""

import json
import re
from collections.abc import Mapping, Sequence

from saccade.curation.codedance.settings import Kind
from saccade.geometry import Box
from saccade.rewards.judges.llm_judge import without_thinking
from saccade.tasks.rows.fields import as_number
from saccade.types import Answer, ImageRef, Json, Message, Target, Task, ToolCall, Turn

SUITABLE, UNSUITABLE = "TRUE", "FALSE"
GOOD, BAD = "GOOD", "BAD"
AGREES, DISAGREES = "AGREE", "DISAGREE"

KIND_ADVICE: Mapping[Kind, str] = {
    "transform": (
        "Solve this one by looking closer: use code to cut out, enlarge, turn or brighten the part of the image that "
        "decides the question, show the picture, and go on from what you then see."
    ),
    "compute": (
        "Solve this one by working it out: use code to measure on the pixels, to count, to calculate or to solve "
        "equations, print the numbers, and go on from them."
    ),
    "draw": (
        "Solve this one by drawing: use code to put marks, lines, boxes or labels on a copy of the image, or to plot "
        "what it says, show the picture, check your marks on it, and go on from them."
    ),
}


def image_suitability(task: Task) -> tuple[Message, ...]:
    """Prompt: is there enough in the image to ask about? One word, ``SUITABLE`` or ``UNSUITABLE``."""
    return _about(
        task,
        "You select images for questions that need a close look. Look over the whole image and judge it by four "
        "tests:\n"
        "1. Variety: it shows at least four kinds of things, or at least six single things.\n"
        "2. A clear target: at least one thing is hardly covered, takes up less than a third of the image, and does "
        "not stand among many copies of itself.\n"
        "3. Hidden detail: some detail of a thing, such as small print, a number, a mark, a texture or a face, would "
        "be read much better in an enlarged cut-out, and would help to answer a question about it.\n"
        "4. Room for questions: one can ask several questions about it that a glance does not answer.\n"
        f"Reply with the one word {SUITABLE} if all four hold, else with the one word {UNSUITABLE}.",
    )


def locating(task: Task) -> tuple[Message, ...]:
    """Prompt for boxes of what the question is about, as JSON that ``read_boxes`` reads."""
    image = task.images[0]
    return _about(
        task,
        f"Find everything in the image that one must look at to answer this question: {question_of(task)}\n"
        "If it is about a part of a thing, give the whole thing. The image is "
        f"{image.width} pixels wide and {image.height} pixels high; the corner at the upper left is 0, 0.\n"
        'Reply with a JSON list alone, one object for each thing: {"label": "what it is", "bbox_2d": [left, top, '
        "right, bottom]} in pixels of this image.",
    )


def question_quality(task: Task) -> tuple[Message, ...]:
    """Prompt: is the answer right, and the question worth asking? One word, ``GOOD`` or ``BAD``."""
    return _about(
        task,
        "You check questions about images before they are used for training.\n"
        f"Question: {question_of(task)}\nAnswer given: {task.answer}\n"
        "Two things must hold. The answer given is right, as far as the image shows. And the question takes some care: "
        "it cannot be answered by a glance, without the image or by knowing how the world usually is.\n"
        f"Reply with the one word {GOOD} if both hold, else with the one word {BAD}. No explanation.",
    )


def step_by_step(task: Task) -> tuple[Message, ...]:
    """Prompt for a plain chain of thought, its answer in ``<answer>`` tags."""
    return _about(
        task,
        f"{question_of(task)}\n\n"
        "Think it through in small steps and write down what you see and what follows from it, calculations among it. "
        "Then give the bare answer (a word, a number or an option's letter) once, at the very end, between <answer> "
        "and </answer>.",
    )


def with_code(task: Task, chain: str) -> tuple[Message, ...]:
    """Prompt for the chain of thought again, with code for calculation by hand; ``rewriting`` reads it."""
    return _about(
        task,
        "Somebody solved a question about the image in words alone. Now a Python interpreter is at hand. Write the "
        "solution anew so that the interpreter does what was calculated by hand.\n"
        f"Question: {question_of(task)}\n\n"
        f"Solution in words:\n<solution>\n{chain}\n</solution>\n\n"
        "How to write it:\n"
        "- Keep the course of the reasoning as it is, detours and corrections too, and keep the wording wherever "
        "nothing is calculated. Steps that are done in the head stay words.\n"
        "- Where something is calculated, stop and write the code, in exactly this form, followed at once by what it "
        "prints:\n"
        "<code>\n```python\nprint(17 * 23)\n```\n</code>\n<interpreter>391</interpreter>\n"
        "- Each piece of code imports what it needs and prints every result that the text goes on with. Names from "
        "earlier pieces stay known.\n"
        "- What stands between <interpreter> and </interpreter> must be what Python really prints, to the last digit. "
        "All code will be run, and a solution whose outputs differ is thrown away. So choose calculations whose output "
        "you know for certain.\n"
        "- Go on from the printed results, and do not repeat the calculation in words.\n"
        "- End with the bare answer between <answer> and </answer>, and write nothing after it.",
    )


def playing_advice(kind: Kind | None, hints: Sequence[Target]) -> str:
    """Advice to a teacher besides the instructions that the model in training will have."""
    lines = [
        "You show how it is done: what you write will be imitated. Take at least one turn with code that matters for "
        "the answer; write code that is short, complete and free of chance; look at its output before you go on; "
        "and say in your thoughts what you see in the output, never that somebody told you."
    ]
    if kind is not None:
        lines.append(KIND_ADVICE[kind])
    if hints:
        boxes = "; ".join(f"{hint.label} {[round(corner) for corner in hint.box.as_tuple()]}" for hint in hints)
        lines.append(f"It may help to look here (left, top, right, bottom in pixels of image 1): {boxes}.")
    return "\n".join(lines)


def agreement(task: Task, turns: Sequence[Turn]) -> tuple[Message, ...]:
    """Prompt: is the solution right? One word, ``AGREES`` or ``DISAGREES``."""
    steps = "\n\n".join(_turn_text(turn) for turn in turns)
    shown = tuple(image for turn in turns if turn.observation is not None for image in turn.observation.images)
    return (
        Message(
            role="user",
            parts=(
                *task.images,
                "You check solutions of questions about images. After the question's images come the pictures that the "
                "solution's code showed, if any.\n",
                *shown,
                f"Question: {question_of(task)}\n\nSolution:\n{steps}\n\n"
                "Work the question out yourself from the image. Then judge the solution: its answer must be right, "
                "what it says of the image must be there, and its reasoning must lead to the answer.\n"
                f"Reply with the one word {AGREES} if all of this holds, else with the one word {DISAGREES}. No "
                "explanation.",
            ),
        ),
    )


def question_of(task: Task) -> str:
    """The question, with the options that it does not name itself."""
    if all(choice in task.question for choice in task.choices):
        return task.question
    options = [f"{chr(ord('A') + index)}. {choice}" for index, choice in enumerate(task.choices)]
    return "\n".join([task.question, *options])


def _turn_text(turn: Turn) -> str:
    match turn.action:
        case ToolCall():
            did = f"Code:\n{turn.action.arguments.get('code', '')}"
        case Answer():
            did = f"Answer: {turn.action.text}"
        case _:
            did = turn.text
    result = f"\nOutput:\n{turn.result.text}" if turn.result is not None else ""
    return f"{turn.thought}\n{did}{result}".strip()


def _about(task: Task, words: str) -> tuple[Message, ...]:
    return (Message(role="user", parts=(*task.images, words)),)


MAX_BOXES = 64
MAX_LABEL_CHARS = 200
EDGE_SLACK_PX = 1.0

_FENCED = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_MARKS = " \t\r\n*_`\"'“”.!"


def read_verdict(reply: str, *, good: str, bad: str) -> bool | None:
    """True for the word ``good`` alone, False for ``bad`` alone, in any case and marks; None for anything else."""
    word = without_thinking(reply).strip(_MARKS).casefold()
    return {good.casefold(): True, bad.casefold(): False}.get(word)


def read_boxes(reply: str, image: ImageRef) -> tuple[Target, ...] | None:
    """The objects of a JSON list of ``{"label": …, "bbox_2d": [x1, y1, x2, y2]}`` in pixels; None when it is no such.

    The list may stand in a fence. One box that is empty, inverted or outside of the image spoils the list, for then the
    model counts in another frame.
    """
    text = without_thinking(reply)
    fenced = _FENCED.match(text)
    try:
        value: Json = json.loads(fenced.group(1) if fenced else text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list) or not 0 < len(value) <= MAX_BOXES:
        return None
    targets = [_target(item, image) for item in value]
    known = tuple(target for target in targets if target is not None)
    return known if len(known) == len(targets) else None


def _target(item: Json, image: ImageRef) -> Target | None:
    if not isinstance(item, dict) or set(item) != {"label", "bbox_2d"}:
        return None
    label, corners = item["label"], item["bbox_2d"]
    if not isinstance(label, str) or not 0 < len(label) <= MAX_LABEL_CHARS or not isinstance(corners, list):
        return None
    numbers = [
        number for corner in corners if isinstance(corner, int | float) and (number := as_number(corner)) is not None
    ]
    if len(corners) != 4 or len(numbers) != 4:
        return None
    box = Box(*numbers)
    clipped = box.clipped(image.width, image.height)
    reach = max(abs(a - b) for a, b in zip(box.as_tuple(), clipped.as_tuple()))
    if not (box.is_ordered and clipped.is_ordered) or reach > EDGE_SLACK_PX:
        return None
    return Target(label=label, box=clipped, point=clipped.center)
