"""Second solvers of questions on flow charts: from names and arrows alone, by sets of names that grow."""

from collections.abc import Mapping

from saccade.gym.state import SceneState

Arrows = list[tuple[str, str, str]]
"""From, word, to; in the names that boxes bear."""


def _arrows(state: SceneState) -> Arrows:
    named = {box.id: box.name for box in state.of_kind("box")}
    return [(named[link.first], link.kind, named[link.second]) for link in state.links]


def _closure(arrows: Arrows, start: str) -> set[str]:
    """All that is reached by one arrow or more."""
    found: set[str] = set()
    for _ in arrows:
        found |= {to for first, _, to in arrows if first == start or first in found}
    return found


def solve_branch(state: SceneState, words: Mapping[str, str]) -> str:
    return next(to for first, word, to in _arrows(state) if (first, word) == (words["question"], words["word"]))


def solve_next(state: SceneState, words: Mapping[str, str]) -> str:
    return next(to for first, _, to in _arrows(state) if first == words["box"])


def solve_asker(state: SceneState, words: Mapping[str, str]) -> str:
    return next(first for first, word, to in _arrows(state) if (to, word) == (words["box"], words["word"]))


def solve_reached(state: SceneState, words: Mapping[str, str]) -> str:
    """Walked with the answers as they are said."""
    out = {(first, word): to for first, word, to in _arrows(state)}
    at = "Start"
    for answer in words["answers"].split(", then "):
        while (at, "next") in out:
            at = out[at, "next"]
        at = out[at, answer]
    return at


def solve_decisions(state: SceneState, words: Mapping[str, str]) -> str:
    return str(sum(word == "yes" for _, word, _ in _arrows(state)))


def solve_again(state: SceneState, words: Mapping[str, str]) -> str:
    return "yes" if words["box"] in _closure(_arrows(state), words["box"]) else "no"


def solve_avoided(state: SceneState, words: Mapping[str, str]) -> str:
    rest = [arrow for arrow in _arrows(state) if words["box"] not in (arrow[0], arrow[2])]
    return "yes" if "End" in _closure(rest, "Start") else "no"


def solve_shortest(state: SceneState, words: Mapping[str, str]) -> str:
    """Boxes on the way, by distances that are lowered until none changes."""
    arrows = _arrows(state)
    far = {"Start": 0} | {to: len(arrows) for _, _, to in arrows}
    for _ in arrows:
        for first, _, to in arrows:
            far[to] = min(far[to], far[first] + 1)
    return str(far["End"] - 1)
