"""Experts that write code: a solution for each kind of question, in several styles, slips and bad habits among them.

The code is written from the question alone, and runs where ``input_image`` is the picture, as a Pillow image. Every
style is a function of the question too, but for those that answer, which get what was printed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import Template

from saccade.errors import UserError
from saccade.tasks.drawing import COLOURS, INK, Canvas
from saccade.tasks.scene import Scene, SceneQuestion
from saccade.types import Answer, AnswerKind, Example, ExpertTurn, Target, ToolCall

PRELUDE = (
    "import cv2\n"
    "import numpy as np\n"
    f"COLOURS = { ({**COLOURS, 'black': INK})!r}\n"
    "pixels = np.array(input_image.convert('RGB'))\n"
    "def mask_of(name):\n"
    "    colour = np.array(COLOURS[name])\n"
    "    return cv2.inRange(pixels, colour - 10, colour + 10) // 255"
)
"""The beginning of every solution: the pixels, and which of them have a colour."""

_ONE_MASK = PRELUDE + '\nmask = mask_of("$colour")'
_TWO_MASKS = PRELUDE + '\nfirst, second = mask_of("$colour"), mask_of("$other")'
_CELLS = (
    PRELUDE + "\ndots, lines = mask_of('blue'), mask_of('black')\n"
    "ys = np.nonzero(lines.mean(axis=1) > 0.5)[0]\n"
    "xs = np.nonzero(lines.mean(axis=0) > 0.5)[0]\n"
    "def count(y, x):\n"
    "    return cv2.connectedComponents(dots[ys[y]:ys[y + 1], xs[x]:xs[x + 1]])[0] - 1\n"
    "cells = np.array([[count(y, x) for x in range(len(xs) - 1)] for y in range(len(ys) - 1)])"
)
_SCALE = "bar = mask_of('black').any(axis=0).sum()\n"
_AXIS = (
    "black = mask_of('black')\n"
    "top = np.nonzero(black[:, black.sum(axis=0).argmax()])[0][0]\n"
    "def value(mask):\n"
    "    rows = np.nonzero(mask.any(axis=1))[0]\n"
    "    return round(100 * len(rows) / (rows[-1] + 1 - top))\n"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """How questions of one kind are asked and answered; every text is a template with the same ``$slots``."""

    name: str
    question: str
    thought: str
    find: str
    """Code that finds what the question is about, and shows nothing."""
    report: str
    """Code that computes the answer from it, and prints it."""
    broken: str
    """``report`` with a slip that raises."""
    show: str = ""
    """Code whose last line is a picture of what was found; empty where there is none to see."""

    def asked(self, **words: str) -> str:
        """The question with its words."""
        return Template(self.question).substitute(words)


@dataclass(frozen=True, kw_only=True, slots=True)
class Solution:
    """A method with the words of one question."""

    method: Method
    words: Mapping[str, str]

    @property
    def filled(self) -> Method:
        """The method, whose texts have these words."""
        texts = {name: getattr(self.method, name) for name in ("thought", "find", "report", "broken", "show")}
        return replace(self.method, **{name: Template(text).substitute(self.words) for name, text in texts.items()})


_SHOW = "from PIL import Image\nImage.fromarray(mask * 255)"

COUNT = Method(
    name="count",
    question="How many dots are $colour?",
    thought="count $colour",
    find=_ONE_MASK,
    report="count = cv2.connectedComponents(mask)[0] - 1\nprint(count)",
    broken="number = cv2.connectedComponents(mask)[0] - 1\nprint(count)",
    show=_SHOW,
)
LENGTH = Method(
    name="length",
    question="The black bar is $units units long. How long is the $colour line?",
    thought="length $colour $units",
    find=_ONE_MASK,
    report=_SCALE + "points = np.argwhere(mask).astype(np.float32)\n"
    "print(round((max(cv2.minAreaRect(points)[1]) + 1) / bar * $units))",
    broken="points = np.argwhere(mask).astype(np.float32)\n"
    "print(round((max(cv2.minAreaRect(points)[1]) + 1) / bar * $units))",
    show=_SHOW,
)
AREA = Method(
    name="area",
    question="The black bar is $units units long. How many square units are $colour?",
    thought="area $colour $units",
    find=_ONE_MASK,
    report=_SCALE + "print(round(mask.sum() / bar**2 * $units**2))",
    broken="print(round(mask.sum() / bar**2 * $units**2))",
    show=_SHOW,
)
VALUE = Method(
    name="value",
    question="What is the value of the $colour bar?",
    thought="value $colour",
    find=_ONE_MASK,
    report=_AXIS + "print(value(mask))",
    broken="print(value(mask))",
    show=_SHOW,
)
DIFFERENCE = Method(
    name="difference",
    question="How much higher is the $colour bar than the $other bar?",
    thought="difference $colour $other",
    find=_TWO_MASKS,
    report=_AXIS + "print(value(first) - value(second))",
    broken="print(value(first) - value(second))",
)
SUM_OF_BARS = Method(
    name="sum_of_bars",
    question="What do the $colour bar and the $other bar add up to?",
    thought="sum $colour $other",
    find=_TWO_MASKS,
    report=_AXIS + "print(value(first) + value(second))",
    broken="print(value(first) + value(second))",
)
ROW = Method(
    name="row",
    question="How many dots are in row $number?",
    thought="row $number",
    find=_CELLS,
    report="print(cells[$number - 1].sum())",
    broken="print(cells[$number + 8].sum())",
)
COLUMN = Method(
    name="column",
    question="How many dots are in column $number?",
    thought="column $number",
    find=_CELLS,
    report="print(cells[:, $number - 1].sum())",
    broken="print(cell[:, $number - 1].sum())",
)
PRODUCT = Method(
    name="product",
    question="Multiply the first by the last cell of row $number.",
    thought="product $number",
    find=_CELLS,
    report="print(cells[$number - 1][0] * cells[$number - 1][-1])",
    broken="print(cells[$number - 1].first * cells[$number - 1].last)",
)
BIG_COLOUR = Method(
    name="big_colour",
    question="What colour is the big shape?",
    thought="look",
    find=PRELUDE + "\nsizes = {name: mask_of(name).sum() for name in COLOURS}",
    report="print(max(sizes, key=sizes.get))",
    broken="print(max(size, key=size.get))",
)

METHODS = (COUNT, LENGTH, AREA, VALUE, DIFFERENCE, SUM_OF_BARS, ROW, COLUMN, PRODUCT, BIG_COLOUR)


def solution_of(question: str) -> Solution | None:
    """The method that answers a question, with its words; None for a question of another kind."""
    for method in METHODS:
        pattern = re.sub(r"\\\$(\w+)", r"(?P<\1>\\w+)", re.escape(method.question))
        if match := re.fullmatch(pattern, question):
            return Solution(method=method, words=match.groupdict())
    return None


def code_phrases() -> tuple[str, ...]:
    """All fixed pieces of the methods' code, longest first: as whole tokens they shorten what a tiny model writes."""
    pieces = {piece for method in METHODS for text in _texts(method) for piece in re.split(r"\$\w+", text)}
    return tuple(sorted(pieces - {""}, key=lambda piece: (-len(piece), piece)))


def _texts(method: Method) -> Iterator[str]:
    yield from (method.find, method.report, method.broken, method.show)


CODE_TOOL = "execute_python_code"

CodeStyle = Callable[[str], tuple[ExpertTurn, ...]]
"""From a question to the turns before the answer."""


def code_turn(thought: str, code: str) -> ExpertTurn:
    """A turn that runs Python."""
    return ExpertTurn(thought=thought, action=ToolCall(name=CODE_TOOL, arguments={"code": code}))


def one_run(question: str) -> tuple[ExpertTurn, ...]:
    """Everything at once."""
    solution = _solution(question)
    return (code_turn(solution.thought, f"{solution.find}\n{solution.report}"),)


def coded_scene(
    canvas: Canvas, question: str, answer: object, targets: Sequence[Target], kind: AnswerKind = "integer"
) -> Scene:
    """What was drawn, with a question that the expert answers by one run of code."""
    asked = SceneQuestion(
        question=question,
        answer=str(answer),
        answer_kind=kind,
        targets=tuple(targets),
        looks=one_run(question),
        conclusion="",
    )
    return Scene(images=(canvas.image,), asked=asked)


def two_runs(question: str) -> tuple[ExpertTurn, ...]:
    """First find, then compute with the variables that the first run left."""
    solution = _solution(question)
    return (code_turn(solution.thought, solution.find), code_turn("compute", solution.report))


def with_picture(question: str) -> tuple[ExpertTurn, ...]:
    """Look at what was found before computing; as ``two_runs`` where there is nothing to look at."""
    solution = _solution(question)
    if not solution.show:
        return two_runs(question)
    return (code_turn(solution.thought, f"{solution.find}\n{solution.show}"), code_turn("compute", solution.report))


def slip_then_all(question: str) -> tuple[ExpertTurn, ...]:
    """A run that raises, undone by the sandbox, then everything again without the slip."""
    solution = _solution(question)
    return (
        code_turn(solution.thought, f"{solution.find}\n{solution.broken}"),
        code_turn("correct", f"{solution.find}\n{solution.report}"),
    )


def slip_then_report(question: str) -> tuple[ExpertTurn, ...]:
    """The findings stay when the second run raises; the third computes without the slip."""
    solution = _solution(question)
    return (
        code_turn(solution.thought, solution.find),
        code_turn("compute", solution.broken),
        code_turn("correct", solution.report),
    )


def slip(question: str) -> tuple[ExpertTurn, ...]:
    """A run that raises, and nothing after it."""
    solution = _solution(question)
    return (code_turn(solution.thought, f"{solution.find}\n{solution.broken}"),)


def coded(example: Example, style: CodeStyle = one_run) -> Example:
    """The example with an expert of this style, which answers rightly at the end."""
    answer = ExpertTurn(thought="", action=Answer(text=example.task.answer))
    return replace(example, turns=(*style(example.task.question), answer))


def gave_up(example: Example, *, other: Example) -> Example:
    """The expert slips and then guesses: it answers as another question is answered, right by chance."""
    answer = ExpertTurn(thought="", action=Answer(text=other.task.answer))
    return replace(example, turns=(*slip(example.task.question), answer))


def _solution(question: str) -> Method:
    solution = solution_of(question)
    if solution is None:
        raise UserError(f"no expert writes code for the question {question!r}; saccade.gym.code_experts lists them")
    return solution.filled
