"""The gym in miniature: seven types of drawn questions, tools that are worth their calls, and the words for both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from saccade.media.store import MediaStore
from saccade.seeding import generator_for
from saccade.tasks.families.triangle_angles import LOGIC_FORMS
from saccade.tasks.procedural import generate, vocabulary_texts
from saccade.tools.contract import Tool
from saccade.tools.drawn import CALCULATE, COUNT_DOTS, LIST_SHAPES, MEASURE_SCALE, READ_BARS, READ_CELLS
from saccade.tools.geometry.tools import GEOMETRY_TOOLS
from saccade.types import Example

TASK_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "chart": "colour_bars",
        "geometry": "triangle_angles",
        "map": "scale_bar",
        "science": "attributes",
        "document": "dot_table",
        "spatial": "colour_dots",
        "general": "big_shape",
    }
)
"""The paper's seven types of tasks and the drawn family that stands for each."""

DIFFICULTIES = (0.25, 0.5, 0.75)


def _remembering(tool: Tool) -> Tool:
    """The same tool, which answers what it was asked before from memory; it depends on its arguments alone."""
    return replace(tool, function=cache(tool.function))


SOLVE_GEOMETRY = _remembering(next(tool for tool in GEOMETRY_TOOLS if tool.name == "solve_geometry"))

TOOL_FAMILIES: Mapping[str, tuple[Tool, ...]] = MappingProxyType(
    {
        "perception": (COUNT_DOTS, LIST_SHAPES, MEASURE_SCALE),
        "charts": (READ_BARS, READ_CELLS),
        "solvers": (CALCULATE, SOLVE_GEOMETRY),
    }
)

NUMBERS = range(200)
"""Each is one token."""

PHRASES = (
    '{"name": "list_shapes", "arguments": {"like": "',
    '{"name": "read_bars", "arguments": {"colours": "',
    '{"name": "read_cells", "arguments": {"line": "row", "number": ',
    '{"name": "read_cells", "arguments": {"line": "column", "number": ',
    '{"name": "count_dots", "arguments": {"colour": "',
    '{"name": "measure_scale", "arguments": {"what": "length", "colour": "',
    '{"name": "measure_scale", "arguments": {"what": "area", "colour": "',
    '", "units": ',
    '{"name": "calculate", "arguments": {"expression": "',
    '{"name": "solve_geometry", "arguments": {"logic_forms": "' + LOGIC_FORMS.partition("{first}")[0],
    LOGIC_FORMS.partition("{first}")[2].partition("{second}")[0],
    LOGIC_FORMS.partition("{second}")[2] + '"}}',
    '"}}',
    "}}",
)
"""What stands around the words and numbers of a call: a token each for a tiny model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VistaQuestions:
    """Drawn questions of some types in turn, each a function of its split and its number."""

    seed: int
    media: MediaStore
    types: tuple[str, ...] = tuple(TASK_TYPES)

    def example(self, split: str, number: int) -> Example:
        """A question of one of the difficulties, with its family's own expert."""
        kind, index = self.types[number % len(self.types)], number // len(self.types)
        chance = generator_for(self.seed, "difficulty", split, kind, index)
        return generate(
            TASK_TYPES[kind],
            split=split,
            index=index,
            seed=self.seed,
            media=self.media,
            difficulty=DIFFICULTIES[int(chance.integers(len(DIFFICULTIES)))],
        )


def lesson_texts() -> Sequence[str]:
    """What to train a tokenizer on, together with ``PHRASES``."""
    return [*vocabulary_texts(families=tuple(TASK_TYPES.values())), *_SCAFFOLD_TEXTS * 60]


_SCAFFOLD_TEXTS = (
    "system\n",
    "user\n",
    "assistant\n",
    "tool\n",
    "tools: " + " ".join(tool.name for family in TOOL_FAMILIES.values() for tool in family),
    "no tools",
    "error",
    "red circle, blue square",
    "find red",
    "find star",
    "red blue",
    "row 3 2 4",
    "sum red 73 blue 40",
    "look",
    "count red",
    "value red",
    "difference red blue",
    "sum red blue",
    "length red",
    "area red",
    "row 1",
    "column 1",
    "product 1",
    "solve 40 75",
    "3+2+4",
    "73-40",
    "3*4",
    "1. Given Equals(MeasureOf(Angle(A,B,C)),75): ∠ABC = 75.\n",
    "2. Given Equals(MeasureOf(Angle(C,A,B)),40): ∠BAC = 40.\n",
    "3. Angle sum of a triangle (triangle ABC): ∠BAC + ∠ABC + ∠ACB = 180, so ∠ACB = 65.\n",
    "MeasureOf(Angle(B,C,A)) = 65",
)
"""What the chat template, the brief instructions, tools and thoughts write, so that it takes few tokens."""
