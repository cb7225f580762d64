"""The textual part of iVGR's cold start: grounded trajectories rephrased in plain words by a teacher."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

from saccade.chat.chat_model import ChatModel
from saccade.curation.codedance.prompts import question_of
from saccade.curation.examples import EXAMPLES
from saccade.curation.ivgr.cold_start import ColdStartExample, cold_start_row, imitable
from saccade.curation.ivgr.plain_words import (
    boxes_of_thought,
    coordinates_in,
    in_plain_words,
    lost_objects,
    named_objects,
    plain_reply,
)
from saccade.curation.journal import Journal, work_off
from saccade.curation.reports import RephrasingReport, rephrasing_report
from saccade.curation.rows import IMAGES
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import seed_for
from saccade.tasks.rows.fields import Row, RowError, listed, mapping, required_text
from saccade.types import Example, ExpertTurn, Json

PAPERS_SHARE = 3 / 35
"""3,000 of 35,000 trajectories (iVGR, section 4.1)."""
DETAIL_CHARS = 200
ROUNDING = 1e-9

Reason = Literal["unreadable", "wrong_answer", "coordinates", "lost_object", "ill_formed"]
"""Why a try gave nothing: no reasoning or no answer at its end; another answer than the right one; a place in numbers
is left; a thing that had a box is not named any more; tags in it that the textual protocol cannot write."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RephrasingSettings:
    """Settings of rephrasing trajectories."""

    textual_share: float = PAPERS_SHARE
    """Share of the grounded trajectories that are rephrased, at least one; chosen by seed and id."""
    keeps_grounded: bool = True
    """Whether the file holds the other trajectories too, and those whose rephrasing failed, as they are."""
    attempts: int = 2
    """Tries of the teacher at a trajectory."""
    teacher_temperature: float = 0.7
    kept_objects: float = 1.0
    """Share of the named things that must be named again; below 1 other words for some of them pass."""
    questions_at_once: int = 16

    def check(self) -> None:
        if not 0 < self.textual_share <= 1:
            raise UserError(f"textual_share={self.textual_share} is no share; use a number above 0, up to 1")
        if not 0 <= self.kept_objects <= 1:
            raise UserError(f"kept_objects={self.kept_objects} is no share; use a number from 0 to 1")
        for name in ("attempts", "questions_at_once"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}={getattr(self, name)} does nothing; use 1 or more")
        if not (math.isfinite(self.teacher_temperature) and self.teacher_temperature >= 0):
            raise UserError(f"teacher_temperature={self.teacher_temperature} is no temperature; use 0 or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedTry:
    """One try that gave nothing."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rephrased:
    """Outcome of a trajectory; without a ``thought`` every try failed."""

    task_id: str
    thought: str | None = None
    tries: tuple[FailedTry, ...] = ()

    def as_json(self) -> dict[str, Json]:
        tries: list[Json] = [{"reason": one.reason, "detail": one.detail} for one in self.tries]
        return {"id": self.task_id, "thought": self.thought, "tries": tries}


def rephrased_from(row: Row) -> Rephrased:
    """The outcome from its JSON. Raises RowError."""
    thought = row.get("thought")
    if thought is not None and not isinstance(thought, str):
        raise RowError("thought", "must be text")
    tries = [mapping(item, "tries") for item in listed(row.get("tries"), "tries")]
    if any(one.get("reason") not in get_args(Reason) for one in tries):
        raise RowError("tries", f"a reason must be one of {', '.join(get_args(Reason))}")
    return Rephrased(
        task_id=required_text(row, "id"),
        thought=thought,
        tries=tuple(FailedTry(reason=cast(Reason, one["reason"]), detail=str(one.get("detail", ""))) for one in tries),
    )


@dataclass(kw_only=True)
class Rephrasing:
    """Rephrases trajectories into the folder of a journal."""

    teacher: ChatModel
    media: MediaStore
    settings: RephrasingSettings = field(default_factory=RephrasingSettings)
    seed: int = 0

    def chosen(self, examples: Sequence[ColdStartExample]) -> Sequence[ColdStartExample]:
        """The grounded trajectories to rephrase, in their order; UserError when there is none to choose from."""
        grounded = [one for one in examples if one.stream == "grounded"]
        if not grounded:
            raise UserError(f"none of the {len(examples)} trajectories has a box; there is nothing to rewrite")
        count = max(1, round(self.settings.textual_share * len(grounded)))
        ranks = {one.example.task.id: seed_for(self.seed, "to be told anew", one.example.task.id) for one in grounded}
        last = sorted(ranks.values())[count - 1]
        return [one for one in grounded if ranks[one.example.task.id] <= last]

    async def run(
        self,
        examples: Sequence[ColdStartExample],
        journal: Journal[Rephrased],
        *,
        counts: Callable[[], Mapping[str, Mapping[str, int]]] = dict,
        on_outcome: Callable[[Rephrased], None] = lambda _: None,
    ) -> RephrasingReport:
        """Works off what has no outcome yet, then writes the examples and the report. Raises as ``work_off`` does."""
        self.settings.check()
        chosen = {one.example.task.id: one for one in self.chosen(examples)}
        await work_off(chosen, self._told, journal, at_once=self.settings.questions_at_once, on_outcome=on_outcome)
        kept = self._kept(examples, journal.outcomes)
        rows = [cold_start_row(one, self._exported(one, journal)) for one in kept]
        journal.write(EXAMPLES, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        outcomes = [journal.outcomes[key] for key in chosen if key in journal.outcomes]
        report = rephrasing_report(
            trajectories=len(examples),
            chosen=len(chosen),
            told=[outcome.thought is not None for outcome in outcomes],
            tries=[[one.reason for one in outcome.tries] for outcome in outcomes],
            streams=[one.stream for one in kept],
            asked=counts(),
        )
        journal.write("report.json", json.dumps(report.as_json(), indent=2) + "\n")
        journal.write("report.txt", report.describe())
        return report

    async def _told(self, one: ColdStartExample) -> Rephrased:
        task = one.example.task
        tries: list[FailedTry] = []
        for attempt in range(self.settings.attempts):
            [reply] = await self.teacher(
                in_plain_words(task, one.thought),
                temperature=self.settings.teacher_temperature,
                samples=1,
                seed=seed_for(self.seed, "plain words", task.id, attempt),
            )
            read = self._read(one, reply)
            if isinstance(read, str):
                return Rephrased(task_id=task.id, thought=read, tries=tuple(tries))
            tries.append(read)
        return Rephrased(task_id=task.id, tries=tuple(tries))

    def _read(self, one: ColdStartExample, reply: str) -> str | FailedTry:
        """The reasoning of a reply, or what is wrong with it."""
        read = plain_reply(reply)
        if isinstance(read, str):
            return FailedTry(reason="unreadable", detail=read)
        (text, answer), task = read, one.example.task
        if not answer_is_right(task, answer):
            return FailedTry(reason="wrong_answer", detail=f"answered {answer[:DETAIL_CHARS]!r}")
        place = coordinates_in(text, known=question_of(task), boxes=boxes_of_thought(one.thought))
        if place:
            return FailedTry(reason="coordinates", detail=place[:DETAIL_CHARS])
        lost = lost_objects(one.thought, text)
        named = len(named_objects(one.thought))
        if named - len(lost) < self.settings.kept_objects * named - ROUNDING:
            return FailedTry(reason="lost_object", detail=", ".join(lost)[:DETAIL_CHARS])
        try:
            imitable(_retold(one, text).example.turns[0], task.images[0], "thought")
        except RowError as error:
            return FailedTry(reason="ill_formed", detail=error.why[:DETAIL_CHARS])
        return text

    def _kept(
        self, examples: Sequence[ColdStartExample], outcomes: Mapping[str, Rephrased]
    ) -> Sequence[ColdStartExample]:
        """The examples of the file, in the order of the trajectories."""
        kept = []
        for one in examples:
            outcome = outcomes.get(one.example.task.id)
            if one.stream == "grounded" and outcome is not None and outcome.thought is not None:
                kept.append(_retold(one, outcome.thought))
            elif one.stream == "textual" or self.settings.keeps_grounded:
                kept.append(one)
        return kept

    def _exported(self, one: ColdStartExample, journal: Journal[Rephrased]) -> list[str]:
        images = [self.media.export_source(image, journal.directory / IMAGES) for image in one.example.task.images]
        return [f"{IMAGES}/{path.name}" for path in images]


def _retold(one: ColdStartExample, thought: str) -> ColdStartExample:
    """The example with another thought; its answer stays as it was written."""
    turn = ExpertTurn(thought=thought, action=one.example.turns[0].action)
    return ColdStartExample(example=Example(task=one.example.task, turns=(turn,)))
