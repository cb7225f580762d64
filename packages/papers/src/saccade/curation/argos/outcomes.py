"""Outcomes of Argos' curation: what became of each question and of each of its traces, as the journal keeps it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, cast, get_args

from saccade.curation.argos.cleaning import CleaningReason
from saccade.curation.argos.traces import PointedTrace
from saccade.curation.examples import read_tool_turns, tool_turn_rows
from saccade.tasks.rows.fields import Row, RowError, is_encodable, listed, mapping, optional_number, required_text
from saccade.types import Example, ExpertTurn, Json, Task

QuestionReason = Literal["no_things", "not_found"]
"""Why a question gets no trace at all: no thing to look at is named; none of them is found in its pictures."""

TraceReason = Literal[CleaningReason, "wrong_answer", "below_threshold"]
"""Why a trace is not kept: it is none; its answer is wrong; the verifier gives it less than the threshold."""

_QUESTION_REASONS = get_args(QuestionReason)
_TRACE_REASONS = tuple(name for part in get_args(TraceReason) for name in (get_args(part) or (part,)))
_NEAREST = ("below_threshold", "wrong_answer")
"""From the reason that is nearest to a kept trace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedTrace:
    """One of a teacher's replies."""

    reason: TraceReason | None = None
    """None for a trace that may be kept."""
    detail: str = ""
    turn: ExpertTurn | None = None
    """None where it could not be read, or is not kept."""
    score: float = 0.0
    is_right: bool = False
    parts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def as_json(self) -> Json:
        turns: list[Json] = [] if self.turn is None else tool_turn_rows([self.turn])
        return {
            "reason": self.reason,
            # A reply may hold half a character.
            "detail": self.detail if is_encodable(self.detail) else ascii(self.detail),
            "turns": turns,
            "score": self.score,
            "is_right": self.is_right,
            "parts": dict(self.parts),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedQuestion:
    """Outcome of a question."""

    task_id: str
    given_up: QuestionReason | None = None
    things: tuple[str, ...] = ()
    marks: int = 0
    tries: tuple[TriedTrace, ...] = ()

    @property
    def best(self) -> int | None:
        """Index of the trace that is kept: of the best score, the first of equal ones; None where none may be."""
        kept = [index for index, one in enumerate(self.tries) if one.reason is None]
        return max(kept, key=lambda index: (self.tries[index].score, -index), default=None)

    @property
    def reason(self) -> str:
        """Why nothing of it is kept: the question's own reason, else that of the trace that came nearest; or empty."""
        if self.given_up is not None:
            return self.given_up
        reasons = [one.reason for one in self.tries]
        if None in reasons:
            return ""
        return next((one for one in _NEAREST if one in reasons), str(reasons[0]) if reasons else "")

    def with_best_alone(self) -> "TracedQuestion":
        """The outcome without the texts of all other traces."""
        best = self.best
        tries = [one if sample == best else replace(one, turn=None) for sample, one in enumerate(self.tries)]
        return replace(self, tries=tuple(tries))

    def traces(self, task: Task) -> list[PointedTrace]:
        """All traces that could be read and are kept, wrong ones too."""
        return [
            PointedTrace(
                example=Example(task=task, turns=(one.turn,)),
                sample=sample,
                score=one.score,
                is_right=one.is_right,
                parts=one.parts,
            )
            for sample, one in enumerate(self.tries)
            if one.turn is not None
        ]

    def as_json(self) -> dict[str, Json]:
        return {
            "id": self.task_id,
            "given_up": self.given_up,
            "things": list(self.things),
            "marks": self.marks,
            "tries": [one.as_json() for one in self.tries],
        }


def traced_from(row: Row) -> TracedQuestion:
    """The outcome from its JSON. Raises RowError."""
    given_up = row.get("given_up")
    if given_up is not None and given_up not in _QUESTION_REASONS:
        raise RowError("given_up", f"must be one of {', '.join(_QUESTION_REASONS)}")
    return TracedQuestion(
        task_id=required_text(row, "id"),
        given_up=cast(QuestionReason | None, given_up),
        things=tuple(map(str, listed(row.get("things"), "things"))),
        marks=int(_number(row, "marks")),
        tries=tuple(_read_try(mapping(one, "tries")) for one in listed(row.get("tries"), "tries")),
    )


def _read_try(row: Row) -> TriedTrace:
    reason = row.get("reason")
    if reason is not None and reason not in _TRACE_REASONS:
        raise RowError("reason", f"must be one of {', '.join(_TRACE_REASONS)}")
    turns: Sequence[ExpertTurn] = read_tool_turns(row.get("turns")) if row.get("turns") else ()
    parts = mapping(row.get("parts"), "parts")
    return TriedTrace(
        reason=cast(TraceReason | None, reason),
        detail=str(row.get("detail", "")),
        turn=turns[0] if turns else None,
        score=_number(row, "score"),
        is_right=bool(row.get("is_right")),
        parts={name: _number(parts, name) for name in parts},
    )


def _number(row: Row, key: str) -> float:
    value = optional_number(row, key, low=-1e6, high=1e6)
    if value is None:
        raise RowError(key, "is missing")
    return value
