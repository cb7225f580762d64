"""Programs on flow charts: what follows, what is reached, what leads there, loops, ways that avoid a box."""

from collections.abc import Mapping, Sequence

from saccade.gym.grammars.flow_charts import QUESTIONS, WORK, FlowState, arrow_id
from saccade.gym.program import Asking, ProgramQuestion, program
from saccade.gym.programs.flow_solvers import (
    solve_again,
    solve_asker,
    solve_avoided,
    solve_branch,
    solve_decisions,
    solve_next,
    solve_reached,
    solve_shortest,
)
from saccade.gym.state import Element, as_state
from saccade.tasks.scene import pick
from saccade.types import AnswerKind

Ways = dict[str, dict[str, str]]
"""For each box where its arrows lead, by what is written on them ("next" where nothing is)."""


def ways_of(state: FlowState) -> Ways:
    """All arrows."""
    found: Ways = {box.id: {} for box in state.of_kind("box")}
    for link in state.links:
        found[link.first][link.kind] = link.second
    return found


def _flow_parts(asking: Asking) -> tuple[FlowState, Ways, dict[str, Element]]:
    state = as_state(asking.state, FlowState)
    return state, ways_of(state), {box.id: box for box in state.of_kind("box")}


def _question_with(
    answer: str,
    evidence: Sequence[str],
    *,
    words: Mapping[str, str] | None = None,
    kind: AnswerKind = "exact",
    near: Sequence[str] = (),
) -> ProgramQuestion:
    others = (f"the box {answer}", f'"{answer}"', answer.removesuffix("?")) if kind == "exact" and answer else ()
    return ProgramQuestion(
        answer=answer,
        kind=kind,
        words=words or {},
        accepted=tuple(dict.fromkeys(text for text in others if text != answer)),
        near=tuple(dict.fromkeys(text for text in near if text != answer)),
        choices=("yes", "no") if kind == "choice" else (),
        evidence=tuple(dict.fromkeys(evidence)),
        conclusion=answer,
    )


def _of_sort(boxes: Mapping[str, Element], *sorts: str) -> list[Element]:
    return [box for box in boxes.values() if box.attributes["sort"] in sorts]


def _is_inner(box: Element) -> bool:
    """Whether it may be an answer: every chart has a start and an end."""
    return box.attributes["sort"] in ("work", "decision")


def _absent(asking: Asking, boxes: Mapping[str, Element], names: tuple[str, ...]) -> str:
    there = {box.name for box in boxes.values()}
    return pick(asking.rng, tuple(name for name in names if name not in there))


def _no_branch(asking: Asking) -> ProgramQuestion:
    _, _, boxes = _flow_parts(asking)
    decisions = [box.id for box in _of_sort(boxes, "decision")]
    word = "yes" if asking.rng.integers(2) else "no"
    return _question_with("", decisions, words={"question": _absent(asking, boxes, QUESTIONS), "word": word})


@program(
    'Which box follows if "{question}" is answered with {word}?',
    'At "{question}" the answer is {word}. What does the next box say?',
    solve=solve_branch,
    falsify=_no_branch,
)
def _branch(asking: Asking) -> ProgramQuestion | None:
    _, ways, boxes = _flow_parts(asking)
    pairs = [(box, word) for box in _of_sort(boxes, "decision") for word in ("yes", "no")]
    pairs = [(box, word) for box, word in pairs if _is_inner(boxes[ways[box.id][word]])]
    if not pairs:
        return None
    box, word = pairs[int(asking.rng.integers(len(pairs)))]
    target, other = (boxes[ways[box.id][said]] for said in (word, "no" if word == "yes" else "yes"))
    near = [other.name, *(boxes[then].name for then in ways[target.id].values())]
    evidence = [box.id, arrow_id(box.id, word), target.id]
    return _question_with(target.name, evidence, words={"question": box.name, "word": word}, near=near)


def _no_next(asking: Asking) -> ProgramQuestion:
    _, _, boxes = _flow_parts(asking)
    evidence = [box.id for box in _of_sort(boxes, "work")]
    return _question_with("", evidence, words={"box": _absent(asking, boxes, WORK)})


@program(
    'Which box comes right after "{box}"?',
    'Where does the arrow lead that leaves "{box}"?',
    solve=solve_next,
    falsify=_no_next,
)
def _next_box(asking: Asking) -> ProgramQuestion | None:
    _, ways, boxes = _flow_parts(asking)
    found = [box for box in _of_sort(boxes, "work") if _is_inner(boxes[ways[box.id]["next"]])]
    if not found:
        return None
    box = found[int(asking.rng.integers(len(found)))]
    target = boxes[ways[box.id]["next"]]
    before = [boxes[first].name for first, out in ways.items() if box.id in out.values() and _is_inner(boxes[first])]
    near = [*before, *(boxes[then].name for then in ways[target.id].values() if then != box.id)]
    return _question_with(
        target.name, [box.id, arrow_id(box.id, "next"), target.id], words={"box": box.name}, near=near
    )


@program(
    "Begin at the top and answer the questions that you meet with {answers}. Which box comes right after the "
    "last answer?",
    "Somebody goes through the chart and answers {answers}. What does the box after the last answer say?",
    solve=solve_reached,
    axes=("branches",),
)
def _reached(asking: Asking) -> ProgramQuestion | None:
    """From the start with one to three answers to the box after the last, which is not the end."""
    _, ways, boxes = _flow_parts(asking)
    count = 1 + int(asking.coin * (2 + (asking.levels["branches"] > 0.6)))
    at, answers, evidence, other = "box:0", list[str](), ["box:0"], ""
    while len(answers) < count:
        if not ways[at]:
            return None
        word = "next"
        if len(ways[at]) > 1:
            word = "yes" if asking.rng.integers(2) else "no"
            answers.append(word)
            other = boxes[ways[at]["no" if word == "yes" else "yes"]].name
        evidence += [arrow_id(at, word), ways[at][word]]
        at = ways[at][word]
    if not _is_inner(boxes[at]):
        return None
    near = [other, *(boxes[then].name for then in ways[at].values())]
    return _question_with(boxes[at].name, evidence, words={"answers": ", then ".join(answers)}, near=near)


@program("How many decisions does the chart have?", "Count the questions that the chart asks.", solve=solve_decisions)
def _count_decisions(asking: Asking) -> ProgramQuestion | None:
    _, _, boxes = _flow_parts(asking)
    found = _of_sort(boxes, "decision")
    count = len(found)
    return _question_with(str(count), [box.id for box in found], kind="integer", near=[str(count + 1), str(count - 1)])


def _no_asker(asking: Asking) -> ProgramQuestion:
    _, _, boxes = _flow_parts(asking)
    word = "yes" if asking.rng.integers(2) else "no"
    evidence = [box.id for box in _of_sort(boxes, "decision")]
    return _question_with("", evidence, words={"box": _absent(asking, boxes, WORK), "word": word})


@program(
    'Which question leads straight to "{box}" when it is answered with {word}?',
    'The answer {word} to which question leads straight to "{box}"?',
    solve=solve_asker,
    falsify=_no_asker,
)
def _asker(asking: Asking) -> ProgramQuestion | None:
    _, ways, boxes = _flow_parts(asking)
    decisions = _of_sort(boxes, "decision")
    if len(decisions) < 2:
        return None
    pairs = [(box, word) for box in decisions for word in ("yes", "no")]
    pairs = [(box, word) for box, word in pairs if _is_inner(boxes[ways[box.id][word]])]
    leads = [(ways[box.id][word], word) for box, word in pairs]
    alone = [pair for pair, lead in zip(pairs, leads) if leads.count(lead) == 1]
    if not alone:
        return None
    box, word = alone[int(asking.rng.integers(len(alone)))]
    target = boxes[ways[box.id][word]]
    evidence = [target.id, arrow_id(box.id, word), box.id]
    near = [other.name for other in decisions if other.id != box.id]
    return _question_with(box.name, evidence, words={"box": target.name, "word": word}, near=near)


@program(
    'Can "{box}" be done a second time in one run through the chart?',
    'Is there a loop that leads from "{box}" back to it?',
    solve=solve_again,
)
def _done_again(asking: Asking) -> ProgramQuestion | None:
    """Whether a box lies on a loop."""
    _, ways, boxes = _flow_parts(asking)
    found = []
    for box in _of_sort(boxes, "work"):
        loop = shortest_way(ways, box.id, box.id)
        if bool(loop) == asking.is_wanted:
            found.append((box, loop))
    if not found:
        return None
    box, loop = found[int(asking.rng.integers(len(found)))]
    evidence = loop or [box.id, *(arrow_id(box.id, word) for word in ways[box.id])]
    return _question_with("yes" if loop else "no", evidence, kind="choice", words={"box": box.name})


@program(
    'Is there a way from the start to the end without "{box}"?',
    'Can one get from the start to the end and leave out "{box}"?',
    solve=solve_avoided,
)
def _avoided(asking: Asking) -> ProgramQuestion | None:
    """Whether some way from the start to the end leaves a box out."""
    _, ways, boxes = _flow_parts(asking)
    end = _of_sort(boxes, "end")[0].id
    found = []
    for box in _of_sort(boxes, "work"):
        rest = {first: {word: to for word, to in out.items() if to != box.id} for first, out in ways.items()}
        way = shortest_way(rest, "box:0", end)
        if bool(way) == asking.is_wanted:
            found.append((box, way))
    if not found:
        return None
    box, way = found[int(asking.rng.integers(len(found)))]
    evidence = [box.id, *(way or shortest_way(ways, "box:0", end))]
    return _question_with("yes" if way else "no", evidence, kind="choice", words={"box": box.name})


@program(
    "How many boxes lie between the start and the end on the shortest way?",
    "What is the least number of boxes that one passes between the start and the end?",
    solve=solve_shortest,
)
def _shortest_way(asking: Asking) -> ProgramQuestion | None:
    """How many boxes lie between start and end: all of the column, or up to three fewer, each as often."""
    _, ways, boxes = _flow_parts(asking)
    end = _of_sort(boxes, "end")[0]
    way = shortest_way(ways, "box:0", end.id)
    count, column = len(way) // 2 - 1, int(end.numbers["row"]) - 1
    if count != asking.wanted(range(max(1, column - 3), column + 1)):
        return None
    return _question_with(str(count), way, kind="integer", near=[str(column), str(count + 1), str(count - 1)])


def shortest_way(ways: Ways, start: str, end: str) -> list[str]:
    """Boxes and arrows, in turn, from one box to another by the fewest arrows; a box's way to itself is a loop."""
    front, known = [[start]], {start} if start != end else set[str]()
    while front:
        further = []
        for way in front:
            for word, to in ways[way[-1]].items():
                longer = [*way, arrow_id(way[-1], word), to]
                if to == end:
                    return longer
                if to not in known:
                    known.add(to)
                    further.append(longer)
        front = further
    return []


FLOW_PROGRAMS = (
    _branch,
    _next_box,
    _reached,
    _count_decisions,
    _asker,
    _done_again,
    _avoided,
    _shortest_way,
)
