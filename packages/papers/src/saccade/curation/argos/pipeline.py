"""Argos' curation (section 4): things named and found, a teacher that sees where they are, traces that are verified.

A question is worked off on its own: its things are named and pointed at, a teacher gives some traces, each is cleaned
and scored by the very reward of reinforcement. The best right one that reaches the threshold is the example; what is
written knows the original pictures alone.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from saccade.chat.chat_model import ChatModel
from saccade.curation.argos.asking import asked_trace
from saccade.curation.argos.cleaning import RefusedReply, clean_reply, cleaned_as_pointed
from saccade.curation.argos.marks import Mark, MarkFinder, marks_of, requests_for
from saccade.curation.argos.outcomes import QuestionReason, TracedQuestion, TriedTrace
from saccade.curation.argos.overlays import Overlays
from saccade.curation.argos.report import TracingReport, tracing_report
from saccade.curation.argos.settings import TracingSettings
from saccade.curation.argos.things import NamedThings, asked_things, known_things, read_things
from saccade.curation.argos.traces import as_lines, equal_sets, pictures_of, trace_row
from saccade.curation.argos.verifying import verified_scores, written_turn
from saccade.curation.examples import EXAMPLES
from saccade.curation.journal import Journal, work_off
from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.pointed import pointed_protocol
from saccade.rewards.argos.reward import ArgosReward
from saccade.rewards.argos.selection import Selection
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.seeding import seed_for
from saccade.types import ExpertTurn, ImageRef, Message, Score, Task, Turn

TRACES = "traces.jsonl"


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A question ready to be asked, or why it is given up."""

    messages: tuple[Message, ...] = ()
    given_up: QuestionReason | None = None
    named: NamedThings = NamedThings()
    marks: tuple[Mark, ...] = ()
    overlaid: tuple[ImageRef, ...] = ()


@dataclass(kw_only=True)
class Tracing:
    """Makes traces into the folder of a journal."""

    teacher: ChatModel
    reward: ArgosReward
    """With a verifier; what it gives decides."""
    media: MediaStore
    marks: MarkFinder | None = None
    """Points at the things; asked as ``pointed`` the teacher does that by itself."""
    extractor: ChatModel | None = None
    """Names things and events; without it the task's own names are taken."""
    view: ViewRule = ORIGINAL_VIEW
    """How the teacher sees pictures, where it is asked as ``pointed``; else coordinates are read off the overlay."""
    settings: TracingSettings = TracingSettings()
    seed: int = 0
    writes_sets: bool = False
    """Whether three sets of equal number are written too: all traces, right ones, right and grounded ones."""

    async def run(
        self,
        tasks: Sequence[Task],
        journal: Journal[TracedQuestion],
        *,
        counts: Callable[[], Mapping[str, Mapping[str, int]]] = dict,
        on_outcome: Callable[[TracedQuestion], None] = lambda _: None,
    ) -> TracingReport:
        """Works off what has no outcome yet, then writes examples, traces and report. Raises as ``work_off`` does."""
        self.settings.check()
        if self.marks is None and self.settings.asks == "overlay":
            raise UserError("an overlay shows marks, but nothing finds any; give marks=, or set asks=pointed")
        by_id = {task.id: task for task in tasks}
        overlays = Overlays(self.media, (image for task in tasks for image in task.images))

        async def traced(task: Task) -> TracedQuestion:
            return await self._trace(task, overlays)

        await work_off(by_id, traced, journal, at_once=self.settings.questions_at_once, on_outcome=on_outcome)
        outcomes = [journal.outcomes[key] for key in by_id if key in journal.outcomes]
        self._write(by_id, outcomes, journal)
        report = tracing_report(outcomes, by_id, asked=counts())
        journal.write_report(report)
        return report

    def _write(
        self, by_id: Mapping[str, Task], outcomes: Sequence[TracedQuestion], journal: Journal[TracedQuestion]
    ) -> None:
        folder = journal.directory
        every = [trace for one in outcomes for trace in one.traces(by_id[one.task_id])]
        seen = {trace.example.task.id: trace.example.task for trace in every}
        images = {task_id: pictures_of(task, folder, self.media) for task_id, task in seen.items()}
        kept = [
            trace
            for one in outcomes
            for trace in one.traces(by_id[one.task_id])
            if one.best is not None and trace.sample == one.best
        ]
        journal.write(EXAMPLES, as_lines(trace_row(one, images[one.example.task.id]) for one in kept))
        files = {TRACES: every}
        if self.writes_sets:
            sets = equal_sets(every, threshold=self.settings.threshold, seed=self.seed)
            files |= {f"{by}.jsonl": traces for by, traces in sets.items()}
        for name, traces in files.items():
            rows = (trace_row(one, images[one.example.task.id], is_one_of_many=True) for one in traces)
            journal.write(name, as_lines(rows))

    async def _trace(self, task: Task, overlays: Overlays) -> TracedQuestion:
        selection = await self.reward.selector(task, None)
        ready = await self._prepare(task, selection, overlays)
        things = ready.named.things
        if ready.given_up is not None:
            return TracedQuestion(task_id=task.id, given_up=ready.given_up, things=things)
        try:
            replies = await self.teacher(
                ready.messages,
                temperature=self.settings.temperature,
                samples=self.settings.samples,
                seed=seed_for(self.seed, "traces", task.id),
            )
        finally:
            overlays.take_back(ready.overlaid)
        tries = await self._tries(task, replies, ready.marks, selection)
        found = TracedQuestion(task_id=task.id, things=things, marks=len(ready.marks), tries=tries)
        return found if self.settings.keeps_all else found.with_best_alone()

    async def _tries(
        self, task: Task, replies: Sequence[str], marks: Sequence[Mark], selection: Selection
    ) -> tuple[TriedTrace, ...]:
        read = await asyncio.to_thread(lambda: [self._read(reply, task, marks) for reply in replies])
        turns = [one[0] for one in read if not isinstance(one, RefusedReply)]
        scores = iter(await verified_scores(self.reward, task, turns, selection))
        return tuple(
            TriedTrace(reason=one.reason, detail=one.detail)
            if isinstance(one, RefusedReply)
            else self._tried_trace(one[1], next(scores))
            for one in read
        )

    async def _prepare(self, task: Task, selection: Selection, overlays: Overlays) -> Prepared:
        if self.settings.asks == "pointed":
            return Prepared(messages=pointed_protocol(style=self.settings.style).prompt(task, (), self.view))
        if not selection.wants_points:
            return Prepared(messages=asked_trace(task, NamedThings(), (), ()))
        named = await self._name_things(task)
        if not (named.things or named.events):
            return Prepared(given_up="no_things")
        requests = requests_for(task, named.things, selection)
        assert self.marks is not None
        found = await asyncio.to_thread(self.marks.find, requests) if requests else []
        marks = marks_of(requests, found, named.things, self.settings.marks_per_thing)
        # What goes on in a video can be told by frames and times alone.
        if not marks and not task.frame_times_s:
            return Prepared(given_up="not_found", named=named)
        overlaid = await asyncio.to_thread(overlays.lend, task, marks)
        messages = asked_trace(task, named, marks, overlaid, tells_proposals=self.settings.tells_proposals)
        return Prepared(messages=messages, named=named, marks=marks, overlaid=overlaid)

    async def _name_things(self, task: Task) -> NamedThings:
        if self.extractor is None:
            return known_things(task)
        for attempt in range(self.settings.extraction_attempts):
            [reply] = await self.extractor(
                asked_things(task),
                temperature=0.0 if attempt == 0 else self.settings.temperature,
                samples=1,
                seed=seed_for(self.seed, "things", task.id, attempt),
            )
            if (named := read_things(reply, task)) is not None:
                return named
        return NamedThings()

    def _read(self, reply: str, task: Task, marks: Sequence[Mark]) -> tuple[Turn, ExpertTurn] | RefusedReply:
        if self.settings.asks == "pointed":
            turn = cleaned_as_pointed(reply, task, self.view)
        else:
            turn = clean_reply(reply, task, marks)
        if isinstance(turn, RefusedReply):
            return turn
        written = written_turn(task, turn)
        return RefusedReply(reason="ill_formed") if written is None else (written, turn)

    def _tried_trace(self, turn: ExpertTurn, score: Score) -> TriedTrace:
        is_right = bool(score.is_right)
        passes = is_right and score.total >= self.settings.threshold
        return TriedTrace(
            reason=None if passes else "below_threshold" if is_right else "wrong_answer",
            turn=turn,
            score=score.total,
            is_right=is_right,
            parts=dict(score.values),
        )
