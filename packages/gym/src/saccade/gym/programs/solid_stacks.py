"""Programs on shine, and on solids that stand on others."""

from collections import Counter
from collections.abc import Callable

from saccade.gym.grammars.solids import FINISHES
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import told_of
from saccade.gym.programs.solids import all_seen, pick_solids, solid_named, solids_of, visible
from saccade.gym.state import Element


def _attribute(kind: str) -> Callable[[Asking], ProgramQuestion | None]:
    def ask(asking: Asking) -> ProgramQuestion | None:
        some = pick_solids(asking, 1)
        if some is None:
            return None
        name = some[0].name
        answer = some[0].attributes[kind]
        other = {"shiny": "dull", "dull": "shiny", "large": "small", "small": "large"}[answer]
        return told_of(answer, some, kind="choice", words={"name": name}, choices=sorted((answer, other)))

    return ask


@program(
    "How many objects are {finish}?",
    "Count the {finish} objects.",
    solve=lambda state, words: str(
        sum(element.attributes["finish"] == words["finish"] for element in solids_of(state))
    ),
)
def _count_finish(asking: Asking) -> ProgramQuestion | None:
    least, most = (asking.levels.whole("clutter", *counts) for counts in ((0, 0, 1), (3, 4, 6)))
    counts = Counter(element.attributes["finish"] for element in solids_of(asking.state))
    finish = asking.with_wanted(range(least, most + 1), ((counts[finish], finish) for finish in FINISHES))
    if finish is None or not all_seen(asking):
        return None
    found = [element for element in solids_of(asking.state) if element.attributes["finish"] == finish]
    count = len(found)
    return told_of(str(count), found, kind="integer", words={"finish": finish}, near=[str(count + 1)])


def _beside_in_stack(*, asks_top: bool) -> Callable[[Asking], ProgramQuestion | None]:
    """What stands on a solid, or what it stands on."""

    def ask(asking: Asking) -> ProgramQuestion | None:
        pairs = _stacks(asking)
        if not pairs:
            return None
        top, base = pairs[int(asking.rng.integers(len(pairs)))]
        found, known = (top, base) if asks_top else (base, top)
        others = [element.name for element in visible(asking) if element not in (top, base)]
        return told_of(found.name, [known, found], words={"name": known.name}, near=others[:2])

    return ask


def _stacks(asking: Asking) -> list[tuple[Element, Element]]:
    """Solids that stand on others, with what they stand on, where both can be made out."""
    pool = visible(asking)
    tops = [element for element in pool if element.get("on")]
    pairs = [(top, solid_named(asking.state, top.attributes["on"])) for top in tops]
    return [(top, base) for top, base in pairs if base in pool]


@program(
    "How many objects stand on the floor itself?",
    "Count the objects that stand on no other.",
    solve=lambda state, words: str(sum(not element.get("on") for element in solids_of(state))),
)
def _on_floor(asking: Asking) -> ProgramQuestion | None:
    if not all_seen(asking):
        return None
    found = [element for element in solids_of(asking.state) if element.numbers["z"] == 0]
    near = [str(len(solids_of(asking.state))), str(len(found) + 1)]
    return told_of(str(len(found)), found, kind="integer", near=near)


LOOK_PROGRAMS = (
    Program(
        name="finish",
        wordings=("Is the {name} shiny or dull?", "Which finish does the {name} have: shiny or dull?"),
        ask=_attribute("finish"),
        solve=lambda state, words: solid_named(state, words["name"]).attributes["finish"],
    ),
    _count_finish,
)
"""Shine."""

STACK_PROGRAMS = (
    Program(
        name="on_top",
        wordings=("What stands on the {name}?", "Which object is on top of the {name}?"),
        ask=_beside_in_stack(asks_top=True),
        solve=lambda state, words: next(e.name for e in solids_of(state) if e.get("on") == words["name"]),
    ),
    Program(
        name="under",
        wordings=("What is under the {name}?", "On what does the {name} stand?"),
        ask=_beside_in_stack(asks_top=False),
        solve=lambda state, words: solid_named(state, words["name"]).attributes["on"],
    ),
    _on_floor,
)
"""Stacks."""
