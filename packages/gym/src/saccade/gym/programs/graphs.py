"""Programs on networks: degrees, neighbours, weights, paths. Of towns and roads as of nodes and edges."""

import heapq
import itertools
from collections.abc import Mapping, Sequence

from saccade.gym.grammars.graphs import NetworkState, edge_id
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.state import Element, SceneState, as_state
from saccade.types import AnswerKind

Neighbours = dict[str, dict[str, float]]


def _network(asking: Asking) -> NetworkState:
    return as_state(asking.state, NetworkState)


def neighbours_of(state: SceneState) -> Neighbours:
    """For each node its neighbours and the weights of the edges to them."""
    found: Neighbours = {node.id: {} for node in state.of_kind("node")}
    for link in state.links:
        found[link.first][link.second] = link.number
        found[link.second][link.first] = link.number
    return found


def _question_with(
    state: NetworkState,
    answer: str,
    evidence: Sequence[str],
    *,
    kind: AnswerKind = "exact",
    words: Mapping[str, str] | None = None,
    near: Sequence[str] = (),
    choices: Sequence[str] = (),
) -> ProgramQuestion:
    return ProgramQuestion(
        answer=answer,
        kind=kind,
        words={"node": state.node_word, "edge": state.edge_word, **(words or {})},
        near=tuple(dict.fromkeys(text for text in near if text != answer)),
        choices=tuple(choices),
        evidence=tuple(dict.fromkeys(evidence)),
        conclusion=answer,
    )


def _nodes(asking: Asking, count: int) -> list[Element]:
    nodes = _network(asking).of_kind("node")
    return [nodes[int(at)] for at in asking.rng.permutation(len(nodes))[:count]]


@program(
    "How many {edge}s meet at {name}?",
    "Count the {edge}s that end at {name}.",
    solve=lambda state, words: str(len(neighbours_of(state)[words["name"]])),
)
def _degree(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    every = neighbours_of(state)
    most = min(asking.levels.whole("links", 4, 5, 7), asking.levels.whole("clutter", 4, 7, 12))
    name = asking.with_wanted(range(1, 1 + most), ((len(near), name) for name, near in every.items()))
    if name is None:
        return None
    count, edges = len(every[name]), [edge_id(name, other) for other in every[name]]
    near = [str(count + 1), str(count - 1)]
    return _question_with(state, str(count), [name, *edges], kind="integer", words={"name": name}, near=near)


@program("At which {node} do most {edge}s meet?", "Which {node} has the largest number of {edge}s?")
def _busiest(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    every = neighbours_of(state)
    order = sorted(every, key=lambda name: -len(every[name]))
    if len(every[order[0]]) == len(every[order[1]]):
        return None
    return _question_with(
        state, order[0], [order[0], *(edge_id(order[0], other) for other in every[order[0]])], near=order[1:2]
    )


def _weight(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    a, b = (state.links[int(at)] for at in asking.rng.permutation(len(state.links))[:2])
    words = {"first": a.first, "second": a.second}
    evidence = [a.first, edge_id(a.first, a.second), a.second]
    return _question_with(state, f"{a.number:g}", evidence, kind="integer", words=words, near=[f"{b.number:g}"])


def _no_edge(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    a, b = _nodes(asking, 2)
    if b.id in neighbours_of(state)[a.id]:
        return None
    return _question_with(state, "", [a.id, b.id], kind="integer", words={"first": a.id, "second": b.id})


@program(
    "What is the largest number on any {edge}?",
    "Which number is the highest on the {edge}s?",
    solve=lambda state, words: f"{max(link.number for link in state.links):g}",
    spread=8,
)
def _longest_edge(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    weights = sorted((link.number for link in state.links), reverse=True)
    if weights[0] == weights[1]:
        return None
    best = next(link for link in state.links if link.number == weights[0])
    answer = f"{weights[0]:g}"
    return _question_with(state, answer, [edge_id(best.first, best.second)], kind="integer", near=[f"{weights[1]:g}"])


def _shortest(asking: Asking) -> ProgramQuestion | None:
    """The length of the shortest way, where it has two edges or more and no other way ties."""
    state = _network(asking)
    a, b = (node.id for node in _nodes(asking, 2))
    every = neighbours_of(state)
    length, way = shortest_way(every, a, b)
    if len(way) < 3 or len(way) > 6:
        return None
    evidence = [way[0]]
    for first, second in itertools.pairwise(way):
        evidence += [edge_id(first, second), second]
    words = {"first": a, "second": b}
    near = [f"{length + 1:g}", f"{length - every[way[0]][way[1]]:g}"]
    return _question_with(state, f"{length:g}", evidence, kind="integer", words=words, near=near)


def shortest_way(every: Neighbours, start: str, end: str) -> tuple[float, list[str]]:
    """The length of the shortest way between two nodes and the nodes on it (Dijkstra)."""
    heap = [(0.0, start, [start])]
    done: set[str] = set()
    while heap:
        length, name, way = heapq.heappop(heap)
        if name == end:
            return length, way
        if name in done:
            continue
        done.add(name)
        for other, weight in every[name].items():
            if other not in done:
                heapq.heappush(heap, (length + weight, other, [*way, other]))
    return float("inf"), []


def _solve_hops(state: SceneState, words: Mapping[str, str]) -> str:
    steps = {name: dict.fromkeys(near, 1.0) for name, near in neighbours_of(state).items()}
    reached, count = {words["first"]}, 0
    while words["second"] not in reached:
        reached |= {other for name in reached for other in steps[name]}
        count += 1
    return str(count)


@program(
    "What is the least number of {edge}s from {first} to {second}?",
    "At least how many {edge}s must you follow to get from {first} to {second}?",
    solve=_solve_hops,
)
def _hops(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    a, b = (node.id for node in _nodes(asking, 2))
    steps: Neighbours = {name: dict.fromkeys(near, 1.0) for name, near in neighbours_of(state).items()}
    count, way = shortest_way(steps, a, b)
    if count != asking.wanted((1, 2, 3)):
        return None
    evidence = [mark for first, second in itertools.pairwise(way) for mark in (first, edge_id(first, second), second)]
    near = [f"{count + 1:g}", f"{count + 2:g}"]
    return _question_with(state, f"{count:g}", evidence, kind="integer", words={"first": a, "second": b}, near=near)


@program("Is there a {edge} directly from {first} to {second}?", "Are {first} and {second} joined by a single {edge}?")
def _joined(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    wanted = asking.coin < 0.5
    every = neighbours_of(state)
    pairs = [(a, b) for a in every for b in every if a != b and (b in every[a]) == wanted]
    if not pairs:
        return None
    a, b = pairs[int(asking.rng.integers(len(pairs)))]
    evidence = [a, b] if not wanted else [a, edge_id(a, b), b]
    answer = "yes" if wanted else "no"
    return _question_with(
        state, answer, evidence, kind="choice", words={"first": a, "second": b}, choices=("yes", "no")
    )


@program(
    "Which {node} has a {edge} to {first} and one to {second}?",
    "Name the {node} that lies between {first} and {second}, one {edge} from each.",
)
def _common_neighbour(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    every = neighbours_of(state)
    a, b = (node.id for node in _nodes(asking, 2))
    shared = every[a].keys() & every[b].keys()
    if len(shared) != 1:
        return None
    middle = next(iter(shared))
    evidence = [a, edge_id(a, middle), middle, edge_id(middle, b), b]
    others = [name for name in every[a] if name != middle]
    return _question_with(state, middle, evidence, words={"first": a, "second": b}, near=others[:2])


@program(
    "How many {edge}s are there in all?",
    "Count all {edge}s.",
    solve=lambda state, words: str(sum(len(near) for near in neighbours_of(state).values()) // 2),
)
def _count_edges(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    count = len(state.links)
    evidence = [edge_id(link.first, link.second) for link in state.links]
    return _question_with(state, str(count), evidence, kind="integer", near=[str(count - 1), str(count + 1)])


@program("How many {node}s have only one {edge}?", "Count the {node}s with exactly one {edge}.", spread=8)
def _dead_ends(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    every = neighbours_of(state)
    ends = [name for name in every if len(every[name]) == 1]
    return _question_with(state, str(len(ends)), ends, kind="integer", near=[str(len(ends) + 1)])


def _colour(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    a, b = _nodes(asking, 2)
    words = {"name": a.id}
    return _question_with(state, a.attributes["colour"], [a.id], words=words, near=[b.attributes["colour"]])


def _north(asking: Asking) -> ProgramQuestion | None:
    state = _network(asking)
    order = sorted(state.of_kind("node"), key=_height)
    if _height(order[1]) - _height(order[0]) < 14:
        return None
    return _question_with(state, order[0].id, [order[0].id, order[1].id], near=[order[1].id])


def _height(node: Element) -> float:
    assert node.center is not None
    return node.center.y


WEIGHT = Program(
    name="edge_weight",
    wordings=(
        "What number is on the {edge} between {first} and {second}?",
        "Read the number of the {edge} from {first} to {second}.",
    ),
    ask=_weight,
    falsify=_no_edge,
    solve=lambda state, words: f"{neighbours_of(state)[words['first']][words['second']]:g}",
)
SHORTEST = Program(
    name="shortest_way",
    wordings=(
        "How long is the shortest way from {first} to {second}?",
        "Adding the numbers, what is the least total from {first} to {second}?",
    ),
    ask=_shortest,
)
COLOUR = Program(
    name="node_colour",
    wordings=("What colour is the {node} {name}?", "What is the colour of {name}?"),
    ask=_colour,
    solve=lambda state, words: state.element(words["name"]).attributes["colour"],
)
NORTH = Program(
    name="northernmost",
    wordings=("Which {node} is farthest to the north, at the top?", "Name the northernmost {node}; north is up."),
    ask=_north,
)
SHAPE_PROGRAMS = (
    _degree,
    _busiest,
    _hops,
    _joined,
    _common_neighbour,
    _count_edges,
    _dead_ends,
)
LENGTH_PROGRAMS = (
    WEIGHT,
    SHORTEST,
    _longest_edge,
)
