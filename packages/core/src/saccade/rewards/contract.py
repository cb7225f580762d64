"""What a reward may return: a score, or a number or truth that stands for one; the rest is refused in a sentence."""

import math
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real

from saccade.errors import UserError
from saccade.types import Json, Score, Task, Term

_SHAPE = "return a Score, a number, True or False, or None where there is no verdict"


def score_from(found: object, reward: object, task: Task) -> Score | None:
    """The score that a reward returned; None for no verdict.

    A number is a score of the one term ``reward``; True and False are 1 and 0, and whether the answer is right. Numbers
    of NumPy become Python's. UserError names reward, task and term where a value is no finite number, or evidence is no
    JSON.
    """
    if found is None or (isinstance(found, Score) and _is_plain(found)):
        return found
    where = f"the reward {name_of(reward)} on task {task.id!r}"
    if isinstance(found, Score):
        return _plain(found, where)
    if _is_truth(found):
        return Score(terms=(Term("reward", float(bool(found))),), is_right=bool(found))
    if isinstance(found, Real):
        return Score(terms=(Term("reward", _number(found, f"{where} returned")),))
    raise UserError(f"{where} returned {_short(found)}, which is no score; {_SHAPE}")


def name_of(reward: object) -> str:
    """The name of a reward's function or class."""
    return str(getattr(reward, "__qualname__", None) or type(reward).__qualname__)


def _is_plain(score: Score) -> bool:
    """Whether all is as it should be, at little cost: most scores are."""
    numbers = [*(term.value for term in score.terms), *(term.weight for term in score.terms), *score.notes.values()]
    is_finite = all(type(one) in (float, int) and math.isfinite(one) for one in numbers)
    is_right = score.is_right is None or type(score.is_right) is bool
    return is_finite and is_right and not score.evidence


def _plain(score: Score, where: str) -> Score:
    terms = tuple(
        replace(
            term,
            value=_number(term.value, f"{where}: the term {term.name!r} has the value"),
            weight=_number(term.weight, f"{where}: the term {term.name!r} has the weight"),
        )
        for term in score.terms
    )
    if score.is_right is not None and not _is_truth(score.is_right):
        raise UserError(f"{where}: is_right is {_short(score.is_right)}; give True, False or None")
    notes = {name: _number(value, f"{where}: the note {name!r} is") for name, value in score.notes.items()}
    evidence = {name: _json(value, f"{where}: the evidence {name!r}") for name, value in score.evidence.items()}
    is_right = None if score.is_right is None else bool(score.is_right)
    return replace(score, terms=terms, is_right=is_right, notes=notes, evidence=evidence)


def _is_truth(value: object) -> bool:
    # NumPy's truths are no subclass of bool.
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _number(value: object, what: str) -> float:
    if not isinstance(value, Real) or _is_truth(value):
        raise UserError(f"{what} {_short(value)}, which is no number; give a finite one")
    if not math.isfinite(value):
        raise UserError(f"{what} {value}, which is no finite number; return None where there is no verdict")
    return float(value)


def _json(value: object, what: str) -> Json:
    """The value with NumPy's numbers and arrays as Python's, and None for numbers that are not finite."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _json(one, what) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_json(one, what) for one in value]
    if callable(to_list := getattr(value, "tolist", None)):
        return _json(to_list(), what)
    raise UserError(f"{what} holds {_short(value)}, which is no JSON; give numbers, texts, lists and mappings")


def _short(value: object) -> str:
    shown = repr(value)
    return f"{shown if len(shown) <= 60 else shown[:57] + '...'} ({type(value).__name__})"
