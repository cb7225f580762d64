"""The textual part of iVGR's cold start: grounded trajectories rephrased in plain words by a teacher."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from saccade.chat.chat_model import ChatModel
from saccade.codec.bounds import Bounds, NotNegative, Positive, Share, check_bounds
from saccade.codec.codecs import plain_json
from saccade.codec.forms import Form
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
from saccade.curation.reports import RephrasingReport, counts_by_name
from saccade.curation.rows import IMAGES
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import seed_for
from saccade.tasks.rows.fields import RowError
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

    textual_share: Annotated[float, Bounds(above=0, most=1)] = PAPERS_SHARE
    """Share of the grounded trajectories that are rephrased, at least one; chosen by seed and id."""
    keeps_grounded: bool = True
    """Whether the file holds the other trajectories too, and those whose rephrasing failed, as they are."""
    attempts: Positive = 2
    """Tries of the teacher at a trajectory."""
    teacher_temperature: NotNegative = 0.7
    kept_objects: Share = 1.0
    """Share of the named things that must be named again; below 1 other words for some of them pass."""
    questions_at_once: Positive = 16

    def check(self) -> None:
        check_bounds(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedTry:
    """One try that gave nothing."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rephrased:
    """Outcome of a trajectory; without a ``thought`` every try failed."""

    FORM: ClassVar = Form(keys={"task_id": "id"})

    task_id: Annotated[str, Bounds(least=1)]
    thought: str | None = None
    tries: tuple[FailedTry, ...] = ()

    def as_json(self) -> dict[str, Json]:
        return plain_json(self)


@dataclass(kw_only=True)
class Rephrasing:
    """Rephrases trajectories into the folder of a journal."""

    teacher: ChatModel
    media: MediaStore
    settings: RephrasingSettings = field(default_factory=RephrasingSettings)
    seed: int = 0

    def chosen_examples(self, examples: Sequence[ColdStartExample]) -> Sequence[ColdStartExample]:
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
        chosen = {one.example.task.id: one for one in self.chosen_examples(examples)}
        await work_off(chosen, self._rephrase, journal, at_once=self.settings.questions_at_once, on_outcome=on_outcome)
        kept = self._kept_examples(examples, journal.outcomes)
        rows = [cold_start_row(one, self._export_images(one, journal)) for one in kept]
        journal.write(EXAMPLES, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        outcomes = [journal.outcomes[key] for key in chosen if key in journal.outcomes]
        report = RephrasingReport(
            trajectories=len(examples),
            chosen=len(chosen),
            told=sum(outcome.thought is not None for outcome in outcomes),
            failed=len(chosen) - len(outcomes),
            streams=counts_by_name(one.stream for one in kept),
            given_up=counts_by_name(outcome.tries[-1].reason for outcome in outcomes if outcome.thought is None),
            tries=counts_by_name(one.reason for outcome in outcomes for one in outcome.tries),
            asked=counts(),
        )
        journal.write_report(report)
        return report

    async def _rephrase(self, one: ColdStartExample) -> Rephrased:
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

    def _kept_examples(
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

    def _export_images(self, one: ColdStartExample, journal: Journal[Rephrased]) -> list[str]:
        images = [self.media.export_source(image, journal.directory / IMAGES) for image in one.example.task.images]
        return [f"{IMAGES}/{path.name}" for path in images]


def _retold(one: ColdStartExample, thought: str) -> ColdStartExample:
    """The example with another thought; its answer stays as it was written."""
    turn = ExpertTurn(thought=thought, action=one.example.turns[0].action)
    return ColdStartExample(example=Example(task=one.example.task, turns=(turn,)))
