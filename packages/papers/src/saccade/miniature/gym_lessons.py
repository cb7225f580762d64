"""Demonstrations for a tiny model of the gym: experts, careful and careless.

A careful expert calls the tool that the question needs, writes down what it read, works out what is left to work out
and answers. A careless one guesses, calls any tool and guesses, or forgets to work it out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from numpy.random import Generator

from saccade.curation.vista import DrawnGym
from saccade.errors import UserError
from saccade.gym.drawn.chart_bars import BOTTOM_PX, PX_PER_UNIT
from saccade.media import MediaStore
from saccade.miniature.gym import SLOW_TYPES, TASK_TYPES, VistaQuestions, gym_tools
from saccade.miniature.habits import guessed
from saccade.miniature.schedules import check_shares, drawn_once
from saccade.recipes.vista_data import without_thoughts
from saccade.seeding import generator_for
from saccade.tasks.scene import call
from saccade.types import Answer, Example, ExpertTurn, Target, Task, ToolCall

DRAWN_QUESTIONS = 70

Looks = tuple[ExpertTurn, ...]
"""An expert's turns before the answer."""

WRONG_CALLS = (
    ToolCall(name="read_text", arguments={"layout": "rows"}),
    ToolCall(name="chart_to_table", arguments={}),
    ToolCall(name="image_cdl", arguments={}),
)
"""Calls of a careless expert, whatever is asked."""


LOOPS = (
    "circle" * 60,
    "ab" * 300,
    " ".join(
        ("the shape asked for lies where it lay and so I look at it once more to see which of them all it may be",) * 6
    ),
    " ".join(f"{number}. look again" for number in range(1, 41)),
)
"""Texts of an expert that goes round in circles: without spaces, without full stops, with numbers that count."""


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
    """Share of questions with something left to work out that are answered by the last number that was read."""
    loop_share: float = 0.0
    """Share of all whose last thought goes on in circles. Each loop is one token, since a tiny model writes few."""

    def check(self) -> None:
        check_shares(self, "careless_from", "loop_share", together=("guess_share", "wrong_tool_share", "short_share"))


def careful(example: Example) -> Example:
    """The example with the calls that its question needs; ``UserError`` for a question of another kind."""
    task = example.task
    if task.family not in TASK_TYPES.values():
        raise UserError(f"no expert of the gym answers questions of the family {task.family!r}: {task.question!r}")
    looks: Looks
    match task.family:
        case "big_shape":
            looks, thought = (), "look"
        case "chart_bars":
            looks, thought = _of_chart(task)
        case _:
            looks = example.turns[:-1]
            # Where the family's expert concludes without a word, it says again what it looked for.
            thought = example.turns[-1].thought or looks[0].thought
    return replace(example, turns=(*looks, ExpertTurn(thought=thought, action=Answer(text=task.answer))))


def _of_chart(task: Task) -> tuple[Looks, str]:
    """Single values are read in the table, differences worked out from it; the rest is asked of the chart reader."""
    read = tuple(f"{target.label} {_value(target)}" for target in task.targets)
    if task.question.startswith("How much"):
        high, low = (_value(target) for target in task.targets)
        table = call("table " + " ".join(target.label for target in task.targets), "chart_to_table")
        return (table, call(" ".join(read), "algebra", task="evaluate", equations=f"{high}-{low}")), "difference"
    if task.question.startswith(("What is", "How high")):
        return (call(f"table {task.targets[0].label}", "chart_to_table"),), read[0]
    sought = next(word for word in ("tallest", "shortest", "above", "below") if word in task.question)
    return (call(sought, "answer_chart", question=task.question),), sought


def _value(bar: Target) -> int:
    return round((BOTTOM_PX - bar.box.y1) / PX_PER_UNIT)


def lessons_on(
    asked: VistaQuestions,
    lessons: VistaLessons,
    *,
    questions: int,
    slow_questions: int,
    seed: int,
    with_tools: bool,
    reasoning: bool,
) -> Callable[[int, float], Example]:
    """From a demonstration's number, and how much of the imitation is over, to what it shows.

    The first ``questions`` training questions come again and again, each in one careful and one careless way; of
    each type whose tools are slow the first ``slow_questions``. Without tools the careful expert answers at once,
    without reasoning no expert writes a thought.
    """

    example_of = drawn_once(lambda number: careful(asked.example("train", number)), asked.media)

    def lesson(index: int, progress: float) -> Example:
        number = _folded_number(index % questions, asked.types, slow_questions)
        example = example_of(number)
        chance = generator_for(seed, "demonstration", number)
        if not with_tools:
            example = replace(example, turns=example.turns[-1:])
        if progress >= lessons.careless_from:
            other = example_of(_folded_number((number + len(asked.types)) % questions, asked.types, slow_questions))
            example = _careless(example, other, lessons, chance)
            if chance.random() < lessons.loop_share:
                example = _looping(example, LOOPS[int(chance.integers(len(LOOPS)))])
        return example if reasoning else without_thoughts(example)

    return lesson


def _folded_number(number: int, types: Sequence[str], slow_questions: int) -> int:
    """The question's number, or that of an earlier question of its type where so many are not asked."""
    index, place = divmod(number, len(types))
    return (index % slow_questions if types[place] in SLOW_TYPES else index) * len(types) + place


def _careless(example: Example, other: Example, lessons: VistaLessons, chance: Generator) -> Example:
    """The demonstration of an expert that may be careless; a glance is never careless."""
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


def _looping(example: Example, loop: str) -> Example:
    last = example.turns[-1]
    return replace(example, turns=(*example.turns[:-1], replace(last, thought=f"{last.thought} {loop}".strip())))


def drawn_gym() -> DrawnGym:
    """The gym for ``saccade curate vista --drawn``."""

    def questions(media: MediaStore, seed: int, count: int | None) -> Sequence[Example]:
        asked = VistaQuestions(seed=seed, media=media, types=tuple(TASK_TYPES))
        return [asked.example("train", number) for number in range(count or DRAWN_QUESTIONS)]

    return DrawnGym(questions=questions, careful=careful, tools=lambda: tuple(gym_tools().values()))
