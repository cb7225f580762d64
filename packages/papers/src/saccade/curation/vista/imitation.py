"""Trajectories to imitate (VISTA-R1, section 5.1): played with real tools, kept when right, thought out at length.

An expert or a teacher plays each question in the environment. What ends with the right answer, by the metric of the
question's data set, in good form throughout, is kept; a second model then writes its thoughts anew.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, cast, get_args

from saccade.chat.chat_model import ChatModel
from saccade.codec.bounds import NotNegative, Positive, check_bounds
from saccade.curation.examples import EXAMPLES, read_tool_turns, tool_example_row, tool_turn_rows
from saccade.curation.journal import Journal, work_off
from saccade.curation.playing import as_example, demonstration_fault, final_answer, replay
from saccade.curation.reports import ImitationReport, counts_by_name
from saccade.curation.rows import IMAGES
from saccade.curation.vista.densifying import DenseReason, Refused, SeenTurn, at_length, densified_turns
from saccade.envs.environment import ExpertEnvironment
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.rollout.conversation import no_fault, play
from saccade.seeding import seed_for
from saccade.tasks.rows.fields import Row, RowError, listed, mapping, required_text
from saccade.types import Example, ExpertTurn, Json, Task, ToolCall, Turn

DETAIL_CHARS = 200

PlayReason = Literal["ill_formed", "failed_run", "no_answer", "wrong_answer", "no_call"]
"""Why a try is not kept: a turn breaks the format; a tool refused or failed; no answer came in time; the answer is
wrong; no tool was called."""
Reason = Literal[PlayReason, DenseReason]

Player = Callable[[Task, ExpertEnvironment, int], Awaitable[tuple[Turn, ...]]]
"""Plays a task in an environment, with a seed; ``teacher_player`` and ``expert_player`` make players."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VistaImitationSettings:
    """Settings of VISTA-R1's trajectories to imitate."""

    attempts: Positive = 4
    """Tries of the teacher at a question."""
    teacher_temperature: NotNegative = 0.7
    max_turns: Positive = 3
    needs_call: bool = True
    """Whether a trajectory must call a tool, as the paper's do."""
    may_fail: bool = False
    """Whether a tool may fail in what is kept; later turns show how to go on."""
    dense_attempts: Positive = 2
    """Tries of the densifier at a trajectory."""
    densifier_temperature: NotNegative = 0.7
    keeps_terse: bool = True
    """Whether a trajectory whose every rewriting was refused is kept with its own thoughts; else it is left out."""
    questions_at_once: Positive = 16

    def check(self) -> None:
        check_bounds(self)


def teacher_player(teacher: ChatModel, settings: VistaImitationSettings) -> Player:
    """The player that asks a teacher turn by turn: a server, an engine in this process, a script."""

    async def played(task: Task, env: ExpertEnvironment, seed: int) -> tuple[Turn, ...]:
        return await play(
            teacher,
            env,
            task,
            temperature=settings.teacher_temperature,
            seed=seed,
            run_blocking=asyncio.to_thread,
            fault=no_fault if settings.may_fail else demonstration_fault,
        )

    return played


def expert_player(expert: Callable[[Task], Example]) -> Player:
    """The player that knows the turns of a task without a model."""

    async def played(task: Task, env: ExpertEnvironment, seed: int) -> tuple[Turn, ...]:
        return await asyncio.to_thread(lambda: replay(expert(task), env))

    return played


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """One try, of playing or of rewriting, that gave nothing."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Imitable:
    """Outcome of a question; without ``turns`` nothing is kept of it."""

    task_id: str
    turns: tuple[ExpertTurn, ...] = ()
    is_dense: bool = False
    """Whether the thoughts are those of the densifier."""
    tries: tuple[Tried, ...] = ()

    def as_json(self) -> dict[str, Json]:
        tries: list[Json] = [{"reason": one.reason, "detail": one.detail} for one in self.tries]
        return {"id": self.task_id, "turns": tool_turn_rows(self.turns), "is_dense": self.is_dense, "tries": tries}


def imitable_from(row: Row) -> Imitable:
    """The outcome from its JSON. Raises RowError."""
    tries = [mapping(item, "tries") for item in listed(row.get("tries"), "tries")]
    known = {reason for member in get_args(Reason) for reason in (get_args(member) or (member,))}
    if any(one.get("reason") not in known for one in tries):
        raise RowError("tries", f"a reason must be one of {', '.join(sorted(known))}")
    return Imitable(
        task_id=required_text(row, "id"),
        turns=read_tool_turns(row.get("turns")) if row.get("turns") else (),
        is_dense=bool(row.get("is_dense")),
        tries=tuple(Tried(reason=cast(Reason, one["reason"]), detail=str(one.get("detail", ""))) for one in tries),
    )


@dataclass(kw_only=True)
class Imitation:
    """Makes trajectories to imitate into the folder of a journal."""

    player: Player
    make_env: Callable[[int], ExpertEnvironment]
    """An environment of its own for each try, from a seed."""
    media: MediaStore
    densifier: ChatModel | None = None
    settings: VistaImitationSettings = field(default_factory=VistaImitationSettings)
    seed: int = 0

    async def run(
        self,
        tasks: Sequence[Task],
        journal: Journal[Imitable],
        *,
        counts: Callable[[], Mapping[str, Mapping[str, int]]] = dict,
        on_outcome: Callable[[Imitable], None] = lambda _: None,
    ) -> ImitationReport:
        """Works off what has no outcome yet, then writes the examples and the report. Raises as ``work_off`` does."""
        self.settings.check()
        by_id = {task.id: task for task in tasks}
        await work_off(by_id, self._imitate, journal, at_once=self.settings.questions_at_once, on_outcome=on_outcome)
        outcomes = [journal.outcomes[key] for key in by_id if key in journal.outcomes]
        rows = [self._row(by_id[one.task_id], one, journal) for one in outcomes if one.turns]
        journal.write(EXAMPLES, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        actions = [turn.action for one in outcomes for turn in one.turns]
        report = ImitationReport(
            questions=len(by_id),
            kept=len(rows),
            dense=sum(one.is_dense for one in outcomes),
            failed=len(by_id) - len(outcomes),
            families=counts_by_name(by_id[one.task_id].family for one in outcomes if one.turns),
            tools=counts_by_name(action.name for action in actions if isinstance(action, ToolCall)),
            given_up=counts_by_name(one.tries[-1].reason for one in outcomes if not one.turns),
            tries=counts_by_name(tried.reason for one in outcomes for tried in one.tries),
            asked=counts(),
        )
        journal.write_report(report)
        return report

    async def _imitate(self, task: Task) -> Imitable:
        tries: list[Tried] = []
        for attempt in range(self.settings.attempts):
            env = self.make_env(seed_for(self.seed, "imitation", task.id, attempt))
            turns = await self.player(task, env, seed_for(self.seed, "teacher", task.id, attempt))
            fault = self._fault(task, turns)
            if fault is None:
                return await self._at_length(task, turns, tries)
            tries.append(fault)
        return Imitable(task_id=task.id, tries=tuple(tries))

    def _fault(self, task: Task, turns: Sequence[Turn]) -> Tried | None:
        """Why what was played is not kept; None when it is."""
        for turn in turns:
            fault = demonstration_fault(turn)
            if fault == "ill_formed" or (fault == "failed_run" and not (self.settings.may_fail and turn.result)):
                shown = turn.observation.text if turn.observation else turn.text
                return Tried(reason=cast(Reason, fault), detail=shown[:DETAIL_CHARS])
        answer = final_answer(turns)
        if answer is None:
            return Tried(reason="no_answer", detail=f"after {len(turns)} turns")
        if not answer_is_right(task, answer):
            return Tried(reason="wrong_answer", detail=f"answered {answer[:DETAIL_CHARS]!r}")
        if self.settings.needs_call and len(turns) == 1:
            return Tried(reason="no_call", detail="answered at once")
        return None

    async def _at_length(self, task: Task, turns: Sequence[Turn], tries: list[Tried]) -> Imitable:
        """The trajectory with the densifier's thoughts where it has any that can be taken."""
        terse = as_example(task, turns).turns
        kept = Imitable(task_id=task.id, turns=terse)
        if self.densifier is None:
            return replace(kept, tries=tuple(tries))
        seen = [
            SeenTurn(turn=turn, shown=played.observation.text if played.observation else "")
            for turn, played in zip(terse, turns, strict=True)
        ]
        for attempt in range(self.settings.dense_attempts):
            [reply] = await self.densifier(
                at_length(task, seen),
                temperature=self.settings.densifier_temperature,
                samples=1,
                seed=seed_for(self.seed, "densifier", task.id, attempt),
            )
            read = densified_turns(task, seen, reply)
            if not isinstance(read, Refused):
                return replace(kept, turns=read, is_dense=True, tries=tuple(tries))
            tries.append(Tried(reason=read.reason, detail=read.detail[:DETAIL_CHARS]))
        return replace(kept, turns=terse if self.settings.keeps_terse else (), tries=tuple(tries))

    def _row(self, task: Task, outcome: Imitable, journal: Journal[Imitable]) -> dict[str, Json]:
        export = partial(self.media.export_source, directory=journal.directory / IMAGES)
        images = [f"{IMAGES}/{export(image).name}" for image in task.images]
        return tool_example_row(Example(task=task, turns=outcome.turns), images)
