"""The gym in miniature: seven types of drawn questions, the catalogue's tools that work offline, the words for both."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from saccade.gym.code_experts import AREA, COUNT, LENGTH, Method
from saccade.gym.drawn.angles import LOGIC_FORMS
from saccade.media import MediaStore
from saccade.seeding import generator_for
from saccade.tasks import generate, vocabulary_texts
from saccade.tools import Tool
from saccade.tools.catalogue import CATALOGUE, ToolSettings
from saccade.tools.remembered import remembering
from saccade.types import Example

TASK_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "chart": "chart_bars",
        "geometry": "triangle_angles",
        "map": "scale_bar",
        "science": "placed_shapes",
        "document": "table_sums",
        "spatial": "colour_dots",
        "general": "big_shape",
    }
)
"""The paper's seven types of tasks and the drawn family that stands for each."""

SLOW_TYPES = ("chart", "geometry", "document")
"""Their tools read letters, which takes a third of a second."""

DIFFICULTIES = (0.25, 0.5, 0.75)

_OFFLINE = tuple(entry for entry in CATALOGUE if "in_process" in entry.makers)

TOOL_FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        family: tuple(entry.name for entry in _OFFLINE if entry.family == family)
        for family in dict.fromkeys(str(entry.family) for entry in _OFFLINE)
    }
)
"""Names of the catalogue's tools that need no model, by the catalogue's families."""


@cache
def gym_tools() -> Mapping[str, Tool]:
    """These tools by name, made once; all but the quick image tools remember what they gave."""
    made = {entry.name: entry.build(ToolSettings(name=entry.name, backend="in_process"), Path()) for entry in _OFFLINE}
    quick = TOOL_FAMILIES["images"]
    return {name: tool if name in quick else remembering(tool) for name, tool in made.items()}


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


# The words

NUMBERS = (*range(200), 250, 500, 750, 1000)
"""Each is one token; the last are the edges of cells, in thousandths of a picture."""

_CODE_CALL = '{"name": "execute_python_code", "arguments": {"code": "'
_FORMS_CALL = '{"name": "solve_geometry", "arguments": {"logic_forms": "'


def _pieces(method: Method) -> Sequence[str]:
    """Text around the words of a question in the call that answers it by code."""
    written = json.dumps(f"{method.find}\n{method.report}", ensure_ascii=False)[1:-1]
    for slot in ("$colour", "$units"):
        written = written.replace(slot, "$")
    first, *others = written.split("$")
    return (_CODE_CALL + first, *others[:-1], others[-1] + '"}}')


def _phrases() -> tuple[str, ...]:
    before, _, rest = LOGIC_FORMS.partition("{first}")
    between, _, after = rest.partition("{second}")
    code = [piece for method in (COUNT, LENGTH, AREA) for piece in _pieces(method)]
    names = [name for family in TOOL_FAMILIES.values() for name in family]
    return tuple(
        dict.fromkeys(
            (
                *code,
                *(_FORMS_CALL + before, between, after + '"}}'),
                '{"name": "crop", "arguments": {"bbox_2d": [',
                "]}}",
                '{"name": "read_text", "arguments": {"layout": "rows"}}',
                '{"name": "chart_to_table", "arguments": {}}',
                '{"name": "answer_chart", "arguments": {"question": "',
                '{"name": "image_cdl", "arguments": {}}',
                '{"name": "algebra", "arguments": {"task": "evaluate", "equations": "',
                '"}}',
                "bar chart\n|  | value |\n| --- | --- |\n| ",
                " |\n| ",
                " | ",
                "image_cdl: Equal(MeasureOfAngle(",
                "), Equal(MeasureOfAngle(",
                "),",
                ")\npoints: ",
                " ".join(names),
            )
        )
    )


PHRASES = _phrases()
"""Text around the words and numbers of calls and of what tools say: a token each for a tiny model."""


def lesson_texts() -> Sequence[str]:
    """Texts to train a tokenizer on, together with ``PHRASES``."""
    return [*vocabulary_texts(families=tuple(TASK_TYPES.values())), *_SCAFFOLD_TEXTS * 60]


_SCAFFOLD_TEXTS = (
    "system\n",
    "user\n",
    "assistant\n",
    "tool\n",
    "tools: ",
    "no tools",
    "error",
    "look",
    "table rice 60 tea 40",
    "60.05",
    "bar chart",
    "lowest: salt = 30.05\nanswer: salt",
    "highest: salt = 90.05\nanswer: salt",
    "above 50: eggs = 90.05, tea = 80.05\nanswer: 2",
    "below 50: eggs = 20.05, tea = 40.05\nanswer: 2",
    "tallest",
    "shortest",
    "read angles",
    "BAC),110",
    "CBA),40",
    "ACB),60",
    "ABC),60",
    "A(89,36) B(188,48) C(30,150)",
    "1. Given Equals(MeasureOf(Angle(A,B,C)),75): ∠ABC = 75.\n",
    "2. Given Equals(MeasureOf(Angle(C,A,B)),40): ∠BAC = 40.\n",
    "3. Angle sum of a triangle (triangle ABC): ∠BAC + ∠ABC + ∠ACB = 180, so ∠ACB = 65.\n",
    "MeasureOf(Angle(B,C,A)) = 65",
    "item | sold | stock\nrice | 37 | 21",
    "price",
    "size",
    "milk 83 46",
    "83+46",
    "73-40",
)
"""Text of the chat template, the brief instructions, tools and thoughts, so that it takes few tokens."""
