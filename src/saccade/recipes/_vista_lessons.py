"""What a tiny model of the gym imitates: experts, careful and careless.

A careful expert calls the tool that the question needs, writes down what it read, works out what is left to work out
and answers. A careless one guesses, calls any tool and guesses, or forgets to work it out.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from numpy.random import Generator
from PIL import Image

from saccade.errors import UserError
from saccade.media.store import png_bytes
from saccade.recipes._vista_gym import VistaQuestions
from saccade.seeding import generator_for
from saccade.tasks.code_methods import solution_of
from saccade.tasks.families.triangle_angles import LOGIC_FORMS
from saccade.tasks.guessing import guessed
from saccade.tasks.scene import call
from saccade.tools.drawn import bar_values, cell_counts
from saccade.types import Answer, Example, ExpertTurn, Task, ToolCall

Looks = tuple[ExpertTurn, ...]
"""An expert's turns before the answer."""

WRONG_CALLS = (
    ToolCall(name="list_shapes", arguments={"like": "star"}),
    ToolCall(name="read_bars", arguments={"colours": "red"}),
    ToolCall(name="read_cells", arguments={"line": "row", "number": 1}),
)
"""What a careless expert calls, whatever is asked."""


@dataclass(frozen=True, kw_only=True)
class VistaLessons:
    """Shares of demonstrations, from ``careless_from`` on, of questions that need a tool."""

    careless_from: float = 0.75
    """Share of the imitation steps after which experts are careless."""
    guess_share: float = 0.35
    """Answered at once, as another question is answered."""
    wrong_tool_share: float = 0.15
    """A tool is called that has nothing to do with the question, then guessed."""
    short_share: float = 0.3
    """Of questions where something is left to work out: answered by the last number that was read."""

    def check(self) -> None:
        for name in ("careless_from", "guess_share", "wrong_tool_share", "short_share"):
            if not 0 <= (share := getattr(self, name)) <= 1:
                raise UserError(f"lessons.{name}={share} is a share and must lie between 0 and 1")
        if self.guess_share + self.wrong_tool_share + self.short_share > 1:
            raise UserError(
                f"lessons: guess_share={self.guess_share}, wrong_tool_share={self.wrong_tool_share} and "
                f"short_share={self.short_share} are shares of the same questions and must not be more than 1 together"
            )


def careful(example: Example, image: Image.Image) -> Example:
    """The example with the calls that its question needs; ``UserError`` for a question of another kind."""
    task, glance = example.task, example.turns[-1].thought
    looks, thought = _known(task, glance) or _solved(task.question, image)
    return replace(example, turns=(*looks, ExpertTurn(thought=thought, action=Answer(text=task.answer))))


def _known(task: Task, glance: str) -> tuple[Looks, str] | None:
    """The calls, and what is thought when answering; None where the question is solved by its method."""
    match task.family:
        case "big_shape":
            return (), "look"
        case "attributes":
            like = _likeness(task.question)
            return (call(f"find {like}", "list_shapes", like=like),), glance
        case "triangle_angles":
            first, second = (int(word) for word in task.question.replace(".", " ").split() if word.isdigit())
            logic_forms = LOGIC_FORMS.format(first=first, second=second)
            turn = call(f"solve {first} {second}", "solve_geometry", logic_forms=logic_forms)
            return (turn,), f"{first} {second} {task.answer}"
        case _:
            return None


def _solved(question: str, image: Image.Image) -> tuple[Looks, str]:
    solution = solution_of(question)
    if solution is None:
        raise UserError(f"no expert of the gym answers the question {question!r}")
    words, name = solution.words, solution.method.name
    match name:
        case "count":
            return (call(f"count {words['colour']}", "count_dots", colour=words["colour"]),), words["colour"]
        case "length" | "area":
            colour, units = words["colour"], int(words["units"])
            measured = call(f"{name} {colour} {units}", "measure_scale", what=name, colour=colour, units=units)
            return (measured,), colour
        case "value":
            colour = words["colour"]
            return (call(f"value {colour}", "read_bars", colours=colour),), colour
        case "difference" | "sum_of_bars":
            bars, kind, sign = bar_values(image), name.partition("_")[0], "-" if name == "difference" else "+"
            one, other = bars[words["colour"]], bars[words["other"]]
            read = f"{words['colour']} {one} {words['other']} {other}"
            both = f"{words['colour']} {words['other']}"
            first = call(f"{kind} {both}", "read_bars", colours=both)
            return (first, _work_out(read, sign, one, other)), kind
        case "row" | "column" | "product":
            number, sign = int(words["number"]), "*" if name == "product" else "+"
            numbers = _cells_of(name, number - 1, image)
            line = "column" if name == "column" else "row"
            first = call(f"{name} {number}", "read_cells", line=line, number=number)
            return (first, _work_out(f"{name} {' '.join(map(str, numbers))}", sign, *numbers)), name
    raise UserError(f"no expert of the gym answers questions of the kind {name!r}")


def _likeness(question: str) -> str:
    """The colour or the form by which a question names a shape: the word after "the", or before "object"."""
    words = question.partition(":")[0].replace("?", "").replace(",", "").split()
    return words[words.index("the") + 1]


def _cells_of(kind: str, index: int, image: Image.Image) -> list[int]:
    """The numbers of a row, of a column, or the first and the last of a row."""
    cells = cell_counts(image)
    if kind == "column":
        return [row[index] for row in cells]
    return cells[index] if kind == "row" else [cells[index][0], cells[index][-1]]


def _work_out(read: str, sign: str, *numbers: int) -> ExpertTurn:
    return call(read, "calculate", expression=sign.join(map(str, numbers)))


def lessons_on(
    asked: VistaQuestions, lessons: VistaLessons, *, questions: int, seed: int, with_tools: bool, reasoning: bool
) -> Callable[[int, float], Example]:
    """From a demonstration's number, and how much of the imitation is over, to what it shows.

    The first ``questions`` training questions come again and again, each in one careful and one careless way.
    Without tools the careful expert answers at once, without reasoning no expert writes a thought.
    """

    @cache
    def drawn(number: int) -> tuple[Example, bytes]:
        example = asked.example("train", number)
        picture = asked.media.get(example.task.images[0])
        return careful(example, picture), png_bytes(picture)

    def lesson(index: int, progress: float) -> Example:
        number = index % questions
        example, picture = drawn(number)
        # A step's pictures are forgotten after it, but drawing one again costs more than reading it again.
        asked.media.add_encoded(picture, example.task.id)
        chance = generator_for(seed, "demonstration", number)
        if not with_tools:
            example = replace(example, turns=example.turns[-1:])
        if progress >= lessons.careless_from:
            other, _ = drawn((number + len(asked.types)) % questions)
            example = _careless(example, other, lessons, chance)
        return example if reasoning else without_thoughts(example)

    return lesson


def _careless(example: Example, other: Example, lessons: VistaLessons, chance: Generator) -> Example:
    """What an expert shows who may be careless; a glance is never careless."""
    if example.task.family == "big_shape":
        return example
    draw = chance.random()
    guess = guessed(example, other=other)
    if draw < lessons.guess_share:
        return guess
    if len(example.turns) == 1:
        return example
    right = example.turns[0].action
    if draw < lessons.guess_share + lessons.wrong_tool_share:
        others = [one for one in WRONG_CALLS if isinstance(right, ToolCall) and one.name != right.name]
        wrong = others[int(chance.integers(len(others)))]
        return replace(guess, turns=(ExpertTurn(thought="look", action=wrong), *guess.turns))
    last = example.turns[-2]
    if len(example.turns) == 3 and draw < lessons.guess_share + lessons.wrong_tool_share + lessons.short_share:
        numbers = [word for word in last.thought.split() if word.isdigit()]
        answer = ExpertTurn(thought=last.thought, action=Answer(text=numbers[-1]))
        return replace(example, turns=(example.turns[0], answer))
    return example


def without_thoughts(example: Example) -> Example:
    """The same calls and answer, and nothing thought."""
    return replace(example, turns=tuple(replace(turn, thought="") for turn in example.turns))
