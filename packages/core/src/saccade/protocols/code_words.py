"""The words of the code protocol: instructions, the question's message, what a run of code is shown as."""

import re
from collections.abc import Mapping, Sequence

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols import instructions
from saccade.protocols.examples import ANSWER_EXAMPLE, PYTHON_EXAMPLE, call_form
from saccade.protocols.instructions import ANSWER, Style, coordinates, image_numbers, question_parts
from saccade.protocols.markup import defused, without_role_tokens
from saccade.types import Json, Malformed, Message, Observation, Task, ToolResult, ToolSpec

PYTHON_TOOL = "execute_python_code"

_FENCE = re.compile(r"((?:^|(?<=\r))[ \t]*)(?:`(?=``)|~(?=~~))", re.MULTILINE)

_TURNS = f"""# Turns
Begin every turn by reasoning between <think> and </think>. Then do exactly one thing and stop:
- run Python, as one fenced block between <code> and </code>:
{PYTHON_EXAMPLE}
- or finish: {ANSWER_EXAMPLE}
Answer at once when you are sure of what you see. Write code when it makes you surer: to enlarge a detail, to turn or \
brighten the image, to count, measure or calculate, to draw on the image or to plot."""

_PYTHON = """# Python ({name})
{description}
Variables, functions, imports and files stay from turn to turn. A run that fails is undone: everything is again as it \
was before that run. You are shown, before your next turn, what the code prints, the value of its last line, figures \
after plt.show(), pictures after .show() and image files that it saves; nothing else, so print what you want to know. \
Pictures go on counting after the images above. There is no network, no keyboard and no window."""


def input_file(index: int) -> str:
    """The file in which code finds the question's image of this index."""
    return "input_image.png" if index == 0 else f"input_image_{index + 1}.png"


def _input_variable(index: int) -> str:
    return "input_image" if index == 0 else f"input_images[{index}]"


def prompt(
    task: Task, tools: Sequence[ToolSpec], view: ViewRule, *, style: Style, max_turns: int | None
) -> tuple[Message, ...]:
    """The system's instructions and the user's images and question; UserError when there is no Python tool."""
    if all(tool.name != PYTHON_TOOL for tool in tools):
        raise UserError(
            f"the code protocol needs the tool {PYTHON_TOOL}; put saccade.tools.code.python_tool(sandbox) among the "
            "tools, or use another protocol"
        )
    if style == "brief":
        return instructions.prompt(task, tools, view, style=style, max_turns=max_turns)

    def label(index: int) -> str:
        image = task.images[index]
        seen = view.view_size(image.width, image.height)
        note = "" if seen == (image.width, image.height) else f", shown to you at {seen[0]} x {seen[1]}"
        return f"Image {index + 1} ({_input_variable(index)}, {image.width} x {image.height} pixels{note}): "

    return (
        Message(role="system", parts=(without_role_tokens(_full_instructions(tools, view, max_turns)),)),
        Message(role="user", parts=question_parts(task, style, label=label, view=view)),
    )


def observation(outcome: ToolResult | Malformed, images_before: int, *, style: Style) -> Observation:
    """The observation after a run, another tool's call or a malformed turn.

    Tags, role tokens and fences of what tools say are defused. A run is known by ``error_kind`` among its data.
    """
    if isinstance(outcome, Malformed):
        return instructions.observation(outcome, images_before, style=style)
    if "error_kind" not in outcome.data:
        shown = instructions.observation(outcome, images_before, style=style)
        return Observation(text=_harmless(shown.text), images=shown.images)
    if style == "brief":
        text = outcome.text if outcome.is_ok else f"error {_error_label(outcome.data)}"
    else:
        text = _full_report(outcome, images_before)
    return Observation(text=_harmless(text), images=outcome.images)


def _full_report(outcome: ToolResult, images_before: int) -> str:
    if not outcome.is_ok:
        label = _error_label(outcome.data)
        return f"Error: the run failed ({label}) and was undone.\n{outcome.text}".rstrip()
    shown = image_numbers(images_before, outcome.images) if outcome.images else ""
    if outcome.text:
        return f"The code ran{f' and showed {shown}' if shown else ''}. Output:\n{outcome.text}"
    return f"The code ran and showed {shown or 'nothing; print what you want to know'}."


def _error_label(data: Mapping[str, Json]) -> str:
    """The exception's class, or what else ended the run."""
    return str(data.get("error_name") or data["error_kind"])


def _harmless(text: str) -> str:
    return _FENCE.sub(r"\1` ", defused(text))


def _full_instructions(tools: Sequence[ToolSpec], view: ViewRule, max_turns: int | None) -> str:
    python = next(tool for tool in tools if tool.name == PYTHON_TOOL)
    others = [tool for tool in tools if tool.name != PYTHON_TOOL]
    sections = ["You answer questions about images. You may run Python on them."]
    if others:
        sections += [instructions.tool_schemas(others), coordinates(view)]
    sections += [
        _TURNS.replace("- or finish", f"- or use another tool, for example: {call_form(others)}\n- or finish")
        if others
        else _TURNS,
        _PYTHON.format(name=PYTHON_TOOL, description=python.description),
        "# Answer\n" + ANSWER,
    ]
    if max_turns is not None:
        sections.append(instructions.turn_limit(max_turns))
    return "\n\n".join(sections)
