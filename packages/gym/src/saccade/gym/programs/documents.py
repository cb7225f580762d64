"""Programs on documents of several pages: single facts, what two pages tell together, where things stand."""

from collections.abc import Callable, Mapping, Sequence

from saccade.gym.grammars.documents import BuildingFact, DocumentState
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.state import SceneState, as_state
from saccade.types import AnswerKind


def _facts(asking: Asking) -> tuple[BuildingFact, ...]:
    return as_state(asking.state, DocumentState).facts


def _two(asking: Asking, *, on_two_pages: bool = False) -> tuple[int, int] | None:
    """Two sections, of two pages where that is asked for."""
    facts = _facts(asking)
    first, second = (int(at) for at in asking.rng.permutation(len(facts))[:2])
    return None if on_two_pages and facts[first].page == facts[second].page else (first, second)


def _question_with(
    answer: str,
    evidence: Sequence[str],
    *,
    kind: AnswerKind = "exact",
    words: Mapping[str, str],
    near: Sequence[str] = (),
    choices: Sequence[str] = (),
) -> ProgramQuestion:
    return ProgramQuestion(
        answer=answer,
        kind=kind,
        words=words,
        near=tuple(dict.fromkeys(text for text in near if text != answer)),
        choices=tuple(choices),
        evidence=tuple(evidence),
        conclusion=answer,
    )


def _fact(part: str, kind: AnswerKind) -> Callable[[Asking], ProgramQuestion | None]:
    def ask(asking: Asking) -> ProgramQuestion | None:
        pair = _two(asking)
        assert pair is not None
        fact, other = (_facts(asking)[index] for index in pair)
        evidence = [f"heading:{pair[0]}", f"{part}:{pair[0]}"]
        words = {"heading": fact.heading.lower().replace(fact.town.lower(), fact.town)}
        return _question_with(
            str(getattr(fact, part)), evidence, kind=kind, words=words, near=[str(getattr(other, part))]
        )

    return ask


def _of_heading(state: SceneState, words: Mapping[str, str]) -> BuildingFact:
    return next(fact for fact in as_state(state, DocumentState).facts if words["heading"].endswith(f" of {fact.town}"))


@program("In which town was a building opened in {year}?", "Which town's building opened in {year}?")
def _town_of_year(asking: Asking) -> ProgramQuestion | None:
    pair = _two(asking)
    assert pair is not None
    fact, other = (_facts(asking)[index] for index in pair)
    evidence = [f"year:{pair[0]}", f"heading:{pair[0]}"]
    return _question_with(fact.town, evidence, words={"year": str(fact.year)}, near=[other.town])


@program("On which page does the name {builder} appear?", "Which page mentions {builder}?")
def _page_of(asking: Asking) -> ProgramQuestion | None:
    pair = _two(asking)
    assert pair is not None
    fact = _facts(asking)[pair[0]]
    evidence = [f"heading:{pair[0]}", f"page:{fact.page}"]
    near = [str(fact.page + 2)]
    return _question_with(str(fact.page + 1), evidence, kind="integer", words={"builder": fact.builder}, near=near)


@program(
    "Which town opened its building earlier, {first} or {second}?",
    "Which town has the older building, {first} or {second}?",
)
def _older_of_two(asking: Asking) -> ProgramQuestion | None:
    pair = _two(asking, on_two_pages=True)
    if pair is None:
        return None
    one, two = (_facts(asking)[index] for index in pair)
    winner = one if one.year < two.year else two
    evidence = [f"year:{index}" for index in pair]
    return _question_with(
        winner.town,
        evidence,
        kind="choice",
        words={"first": one.town, "second": two.town},
        choices=(one.town, two.town),
    )


@program(
    "How many crowns did the buildings of {first} and {second} cost together?",
    "What is the sum of the costs in {first} and in {second}, in crowns?",
)
def _both_costs(asking: Asking) -> ProgramQuestion | None:
    pair = _two(asking, on_two_pages=True)
    if pair is None:
        return None
    one, two = (_facts(asking)[index] for index in pair)
    words = {"first": one.town, "second": two.town}
    evidence = [f"cost:{index}" for index in pair]
    return _question_with(
        str(one.cost + two.cost), evidence, kind="integer", words=words, near=[str(one.cost), str(two.cost)]
    )


@program("How many sections begin on page {page}?", "Count the headings on page {page}.")
def _sections_on_page(asking: Asking) -> ProgramQuestion | None:
    facts = _facts(asking)
    page = int(asking.rng.integers(asking.state.views))
    count = sum(fact.page == page for fact in facts)
    evidence = [f"heading:{index}" for index, fact in enumerate(facts) if fact.page == page]
    near = [str(5 - count), str(count + 2)]
    return _question_with(str(count), evidence, kind="integer", words={"page": str(page + 1)}, near=near)


@program("In which town was the most expensive building?", "Which town's building cost the most crowns?")
def _dearest(asking: Asking) -> ProgramQuestion | None:
    facts = _facts(asking)
    order = sorted(range(len(facts)), key=lambda index: -facts[index].cost)
    evidence = [f"cost:{order[0]}", f"heading:{order[0]}"]
    return _question_with(facts[order[0]].town, evidence, words={}, near=[facts[order[1]].town])


DOCUMENT_PROGRAMS = (
    Program(
        name="opened_in",
        wordings=("In which year was {heading} opened?", "When did {heading} open?"),
        ask=_fact("year", "integer"),
        solve=lambda state, words: str(_of_heading(state, words).year),
    ),
    Program(
        name="begun_by",
        wordings=("Who began {heading}?", "By whom was {heading} begun?"),
        ask=_fact("builder", "exact"),
        solve=lambda state, words: _of_heading(state, words).builder,
    ),
    Program(
        name="cost",
        wordings=("How many crowns did {heading} cost?", "What was the cost of {heading}, in crowns?"),
        ask=_fact("cost", "integer"),
        solve=lambda state, words: str(_of_heading(state, words).cost),
    ),
    _town_of_year,
    _page_of,
    _older_of_two,
    _both_costs,
    _sections_on_page,
    _dearest,
)
"""For documents of several pages."""
