"""The words of the protocols: instructions, the question's message, observations.

The user's message is, in this order: the images (each frame of a video preceded by its time; in the full
style each still image preceded by its number), the question, the options of a multiple-choice question unless
the question already names them all. Images of an interleaved question stand where its words name them.
"""

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Literal

from saccade.interleaving import interleaved_parts
from saccade.media.resize import ViewRule
from saccade.protocols.box_text import COORDINATES, form_of_boxes, form_of_click
from saccade.protocols.examples import ANSWER_EXAMPLE, call_form
from saccade.protocols.markup import defused, without_role_tokens
from saccade.types import ImageRef, Malformed, Message, Observation, Task, ToolResult, ToolSpec

Style = Literal["brief", "full"]
"""``brief`` spends a few tokens, for a model that learns the format by example; ``full`` explains it all."""

_FORMAT_WITHOUT_TOOLS = f"""# Turns
Reason between <think> and </think>: look carefully at every part of the image that matters and say what you \
see. Then finish with {ANSWER_EXAMPLE}."""

ANSWER = "Between <answer> and </answer> write the bare answer: a word, a number or an option's letter, no sentence."


def prompt(
    task: Task, tools: Sequence[ToolSpec], view: ViewRule, *, style: Style, max_turns: int | None
) -> tuple[Message, ...]:
    """The system's instructions and the user's images and question."""
    if style == "brief":
        system = "tools: " + " ".join(tool.name for tool in tools) if tools else "no tools"
    else:
        system = _full_instructions(tools, view, max_turns)
    return asked_messages(task, system, view, style=style)


def asked_messages(task: Task, system: str, view: ViewRule, *, style: Style, wording: str = "") -> tuple[Message, ...]:
    """The system's instructions and the user's images and question, in the task's own words for this ``wording``."""
    return (
        # Tools of others describe themselves in it.
        Message(role="system", parts=(without_role_tokens(system),)),
        Message(role="user", parts=question_parts(task, style, wording, view=view)),
    )


def observation(outcome: ToolResult | Malformed, images_before: int, *, style: Style) -> Observation:
    """The observation after a call or a malformed turn; tags and role tokens of a tool's text are defused.

    Why a turn is malformed is said in the protocol's own words, whose tags a model must be able to copy.
    """
    if isinstance(outcome, Malformed):
        return Observation(text="error" if style == "brief" else f"Error: {without_role_tokens(outcome.why)}.")
    images = outcome.images
    if style == "brief":
        # A tiny model reads pixels, not sentences; only what has no image is worth its tokens.
        text = "error" if not outcome.is_ok else "" if images else outcome.text
        return Observation(text=defused(text), images=images)
    text = defused(outcome.text) if outcome.is_ok else f"Error: {defused(outcome.text)}"
    if images:
        numbers = image_numbers(images_before, images).capitalize()
        text = f"{numbers}: {text}" if text else f"{numbers}."
    return Observation(text=text, images=images)


def _full_instructions(tools: Sequence[ToolSpec], view: ViewRule, max_turns: int | None) -> str:
    if not tools:
        return "\n\n".join(["You answer questions about images.", _FORMAT_WITHOUT_TOOLS, ANSWER])
    sections = [
        "You answer questions about images. Details may be too small to make out at first sight: use the tools "
        "to look closer before you answer.",
        tool_schemas(tools),
        format_with_tools(tools),
        coordinates(view),
        "# Answer\n" + ANSWER,
    ]
    if max_turns is not None:
        sections.append(turn_limit(max_turns))
    return "\n\n".join(sections)


def format_with_tools(tools: Sequence[ToolSpec]) -> str:
    """The instructions' section on turns that call tools or answer."""
    return f"""# Turns
Begin every turn by reasoning between <think> and </think>. Then do exactly one thing and stop:
- look closer with one tool, for example: {call_form(tools)}
- or finish: {ANSWER_EXAMPLE}
What a tool returns is shown to you before your next turn. Images are numbered from 1 in the order in which you \
see them, and a tool's images go on counting; without "image" a tool works on image 1."""


def tool_schemas(tools: Sequence[ToolSpec]) -> str:
    """The instructions' section on tools: one line of JSON each."""
    lines = "\n".join(_schema_line(tool) for tool in tools)
    return f"# Tools\n<tools>\n{lines}\n</tools>"


def coordinates(view: ViewRule) -> str:
    """The instructions' section on how points and boxes are written."""
    return (
        f"# Coordinates\nA point is [x, y] and a box is [x1, y1, x2, y2] (left, top, right, bottom), "
        f"{COORDINATES[view.convention]}; x grows to the right, y downwards."
    )


def turn_limit(max_turns: int) -> str:
    """The instructions' sentence on the number of turns."""
    return f"You have {max_turns} turns in all, and the last of them must be the answer."


def image_numbers(images_before: int, images: Sequence[ImageRef]) -> str:
    """``image 2`` or ``images 2 to 4``, as the model counts them."""
    first, last = images_before + 1, images_before + len(images)
    return f"image {first}" if first == last else f"images {first} to {last}"


def _schema_line(tool: ToolSpec) -> str:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return json.dumps({"type": "function", "function": function}, ensure_ascii=False)


def _number_label(index: int) -> str:
    return f"Image {index + 1}: "


def image_parts(task: Task, style: Style, label: Callable[[int], str] = _number_label) -> list[str | ImageRef]:
    """The question's images, each after the time of its frame or, in the full style, its ``label`` (by its index).

    In the brief style several pages have their numbers.
    """
    parts: list[str | ImageRef] = []
    for index, image in enumerate(task.images):
        if index < len(task.frame_times_s):
            # Never as an exponent, which nothing that reads moments takes for a time.
            seconds = f"{task.frame_times_s[index]:.2f}".rstrip("0").rstrip(".")
            parts.append(f"{seconds} s" if style == "brief" else f"<{seconds} seconds>")
        elif style == "full":
            parts.append(label(index) if index == 0 else f"\n{label(index)}")
        elif len(task.shown_pages) > 1:
            # Which page it is must be said, so a tiny model is told its number too.
            parts.append(str(index + 1))
        parts.append(image)
    return parts


def question_parts(
    task: Task,
    style: Style,
    wording: str = "",
    label: Callable[[int], str] | None = None,
    *,
    view: ViewRule | None = None,
) -> tuple[str | ImageRef, ...]:
    """The images and the question with its options, as the user's message has them.

    Inside the words an image has no number before it, but for a ``label`` that is given: tools count the images in the
    order in which they are seen either way.
    """
    text = question_text(task, style, wording, view=view)
    parts = interleaved_parts(text.removeprefix("\n"), task.images) if task.is_interleaved else None
    if parts is None:
        return (*image_parts(task, style, label or _number_label), text)
    if label is None or style == "brief":
        return parts
    numbers = itertools.count()
    labelled = [(label(next(numbers)), part) if isinstance(part, ImageRef) else (part,) for part in parts]
    return tuple(itertools.chain.from_iterable(labelled))


def question_text(task: Task, style: Style, wording: str = "", *, view: ViewRule | None = None) -> str:
    """The question, its options where it does not name them, the form of boxes; role tokens in it are defused."""
    question = task.wordings.get(wording, task.question)
    lines = [question]
    if task.lists_options(question):
        lines += [f"{chr(ord('A') + index)}. {choice}" for index, choice in enumerate(task.choices)]
    if task.answer_kind == "boxes":
        lines.append(form_of_boxes(view, images=len(task.images), is_brief=style == "brief"))
    if task.answer_kind == "click":
        lines.append(form_of_click(view, images=len(task.images), is_brief=style == "brief"))
    text = without_role_tokens("\n".join(lines))
    return text if style == "brief" or not task.images else f"\n{text}"
