"""Programs on chess boards: what stands where, how many, what attacks what."""

from collections import Counter
from collections.abc import Callable, Mapping

from saccade.gym.grammars.chess_boards import SIDES, WORTH, ChessState, attacked_from, place_of_square, square_of
from saccade.gym.program import Asking, Program, ProgramQuestion, program
from saccade.gym.programs.answers import told_of
from saccade.gym.programs.choosing import chosen
from saccade.gym.state import Element, SceneState, as_state


def _board(asking: Asking) -> ChessState:
    return as_state(asking.state, ChessState)


def _pieces(asking: Asking) -> list[Element]:
    """All pieces, in random order."""
    pieces = _board(asking).elements
    return [pieces[int(at)] for at in asking.rng.permutation(len(pieces))]


def _nothing_there(asking: Asking) -> ProgramQuestion | None:
    square = square_of(*(int(v) for v in asking.rng.integers(0, 8, size=2)))
    pieces = _pieces(asking)
    return None if _board(asking).piece_on(square) else told_of("", pieces[:1], words={"square": square})


@program(
    "Which piece is on {square}? Give its colour and kind.",
    "What piece is on square {square}? Say its colour too.",
    solve=lambda state, words: state.element(words["square"]).name,
    falsify=_nothing_there,
    spread=6,
)
def _piece_on(asking: Asking) -> ProgramQuestion | None:
    pieces = _pieces(asking)
    other = next(piece for piece in pieces if piece.name != pieces[0].name)
    return told_of(pieces[0].name, pieces[:1], words={"square": pieces[0].id}, near=[other.name])


@program(
    "On which square is the {name}?",
    "Where does the {name} stand?",
    solve=lambda state, words: next(piece.id for piece in state.elements if piece.name == words["name"]),
)
def _square_of(asking: Asking) -> ProgramQuestion | None:
    pieces = _pieces(asking)
    names = [piece.name for piece in pieces]
    found = next(piece for piece in pieces if names.count(piece.name) == 1)
    column, row = place_of_square(found.id)
    near = [square_of(column, 7 - row)]
    return told_of(found.id, [found], words={"name": found.name}, near=near)


@program(
    "How many {side} pieces are there, the king among them?",
    "Count all {side} pieces and pawns.",
    solve=lambda state, words: str(sum(piece.attributes["side"] == words["side"] for piece in state.elements)),
)
def _count_side(asking: Asking) -> ProgramQuestion | None:
    side = SIDES[int(asking.rng.integers(2))]
    found = [piece for piece in _board(asking).elements if piece.attributes["side"] == side]
    near = [str(len(_board(asking).elements) - len(found)), str(len(found) + 1)]
    return told_of(str(len(found)), found, kind="integer", words={"side": side}, near=near)


@program(
    "How many {piece}s of both colours are there?",
    "Count every {piece}, white and black.",
    solve=lambda state, words: str(sum(piece.attributes["piece"] == words["piece"] for piece in state.elements)),
)
def _count_kind(asking: Asking) -> ProgramQuestion | None:
    counts = Counter(piece.attributes["piece"] for piece in _pieces(asking))
    kinds = [kind for kind, count in counts.items() if kind != "king" and count == asking.wanted((1, 2, 3, 4))]
    if not kinds:
        return None
    wanted = chosen(asking.rng, kinds)
    found = [piece for piece in _board(asking).elements if piece.attributes["piece"] == wanted]
    return told_of(str(len(found)), found, kind="integer", words={"piece": wanted}, near=[str(len(found) + 1)])


@program(
    "What are the {side} pieces worth: queen 9, rook 5, bishop and knight 3, pawn 1?",
    "Add up {side}'s material, with 9 for a queen, 5 for a rook, 3 for a bishop or knight and 1 for a pawn.",
)
def _material(asking: Asking) -> ProgramQuestion | None:
    side = SIDES[int(asking.rng.integers(2))]
    found = [piece for piece in _board(asking).elements if piece.attributes["side"] == side]
    total = sum(WORTH.get(piece.attributes["piece"], 0) for piece in found)
    return told_of(str(total), found, kind="integer", words={"side": side}, near=[str(total + 2), str(total + 1)])


@program(
    "How many {others} pieces attack the {name} on {square}?",
    "By how many {others} pieces is the {name} on {square} attacked?",
)
def _attackers(asking: Asking) -> ProgramQuestion | None:
    """By how many pieces of the other side a piece is attacked; each number of them is asked for as often."""
    state, wanted = _board(asking), int(asking.coin * 3)
    for piece in _pieces(asking):
        found = attackers_of(state, piece)
        if len(found) == wanted:
            words = {"name": piece.name, "square": piece.id, "others": _other(piece)}
            return told_of(str(wanted), [piece, *found], kind="integer", words=words, near=[str(wanted + 1)])
    return None


def attackers_of(state: ChessState, piece: Element) -> list[Element]:
    """The pieces of the other side that attack a piece."""
    others = [one for one in state.elements if one.attributes["side"] != piece.attributes["side"]]
    return [one for one in others if piece.id in attacked_from(state, one.id)]


def _other(piece: Element) -> str:
    return SIDES[1 - SIDES.index(piece.attributes["side"])]


@program(
    "Does the {first} attack the {second}?",
    "Could the {first} capture the {second} in one move?",
    solve=lambda state, words: (
        "yes" if words["to"] in attacked_from(as_state(state, ChessState), words["from"]) else "no"
    ),
)
def _attacks(asking: Asking) -> ProgramQuestion | None:
    state, wanted = _board(asking), asking.coin < 0.5
    pairs = [
        (a, b) for a in _pieces(asking) for b in state.elements
        if a.attributes["side"] != b.attributes["side"] and (b.id in attacked_from(state, a.id)) == wanted
    ]  # fmt: skip
    if not pairs:
        return None
    a, b = pairs[int(asking.rng.integers(len(pairs)))]
    words = {"first": f"{a.name} on {a.id}", "second": f"{b.name} on {b.id}", "from": a.id, "to": b.id}
    return told_of("yes" if wanted else "no", [a, b], kind="choice", words=words, choices=("yes", "no"))


def _on_line(kind: str) -> Callable[[Asking], ProgramQuestion | None]:
    def ask(asking: Asking) -> ProgramQuestion | None:
        at = 0 if kind == "file" else 1
        counts = Counter(piece.id[at] for piece in _pieces(asking))
        lines = [line for line, count in counts.items() if count == asking.wanted((1, 2, 3, 4))]
        if not lines:
            return None
        line = chosen(asking.rng, lines)
        found = [piece for piece in _board(asking).elements if piece.id[at] == line]
        return told_of(str(len(found)), found, kind="integer", words={"line": line}, near=[str(len(found) + 1)])

    return ask


def _solve_on_line(at: int) -> Callable[[SceneState, Mapping[str, str]], str]:
    return lambda state, words: str(sum(piece.id[at] == words["line"] for piece in state.elements))


CHESS_PROGRAMS = (
    _piece_on,
    _square_of,
    _count_side,
    _count_kind,
    _material,
    _attackers,
    _attacks,
    Program(
        name="on_file",
        wordings=("How many pieces stand on the file {line}?", "Count the pieces in column {line}."),
        ask=_on_line("file"),
        solve=_solve_on_line(0),
    ),
    Program(
        name="on_rank",
        wordings=("How many pieces stand on rank {line}?", "Count the pieces in row {line}."),
        ask=_on_line("rank"),
        solve=_solve_on_line(1),
    ),
)
"""For chess boards."""
