"""Pipeline of CodeDance's curation: sort, check, solve and check again each question, many at a time."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from saccade.chat.chat_model import ChatModel
from saccade.curation.codedance.outcomes import QuestionOutcome, Reason, Rejected, Value
from saccade.curation.codedance.settings import CurationSettings, Level, Way
from saccade.curation.codedance.solutions import PLAYED, Checker, MakeSeededEnvironment, Solved, Solver
from saccade.curation.examples import EXAMPLES, code_kind, example_row
from saccade.curation.journal import Journal, work_off
from saccade.curation.playing import final_answer
from saccade.curation.reports import Counts, CurationReport, curation_report
from saccade.curation.rows import IMAGES, PassRates, level_of
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.rollout.conversation import play
from saccade.rollout.trajectory import Result, RunBlocking
from saccade.seeding import seed_for
from saccade.types import Target, Task

Player = ChatModel | PassRates
"""A source of pass rates, by which questions are sorted: a model to be asked, or rates from elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Models by role; only the teacher must be there."""

    teacher: ChatModel
    weak: Player | None = None
    strong: Player | None = None
    checker: ChatModel | None = None


@dataclass(kw_only=True)
class Curation:
    """Curates questions into the folder of a journal."""

    roles: Roles
    make_env: MakeSeededEnvironment
    media: MediaStore
    settings: CurationSettings
    seed: int = 0
    chains: Mapping[str, str] = field(default_factory=dict)
    """Chains of thought in words that are there already, by task id."""

    def __post_init__(self) -> None:
        self.settings.thresholds.check()
        self.settings.check()

    async def run(
        self,
        tasks: Sequence[Task],
        journal: Journal[QuestionOutcome],
        *,
        counts: Callable[[], Mapping[str, Counts]] = dict,
        on_outcome: Callable[[QuestionOutcome], None] = lambda _: None,
    ) -> CurationReport:
        """Works off the questions that have no outcome yet, then writes the examples and the report.

        Raises as ``work_off`` does.
        """
        if not tasks:
            raise UserError("there is no question to curate; give at least one")
        pool = ThreadPoolExecutor(max_workers=self.settings.questions_at_once, thread_name_prefix="curation")

        def run_blocking(operation: Callable[[], Result], /) -> Awaitable[Result]:
            return asyncio.get_running_loop().run_in_executor(pool, operation)

        async def outcome_of(task: Task) -> QuestionOutcome:
            outcome = await self._outcome(task, run_blocking)
            if outcome.row is not None:
                for image in task.images:
                    self.media.export(image, journal.directory / IMAGES)
            return outcome

        try:
            await work_off(
                {task.id: task for task in tasks},
                outcome_of,
                journal,
                at_once=self.settings.questions_at_once,
                on_outcome=on_outcome,
            )
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        return self._finish(tasks, journal, counts())

    async def _outcome(self, task: Task, run_blocking: RunBlocking) -> QuestionOutcome:
        checker = None
        if self.roles.checker is not None:
            checker = Checker(teacher=self.roles.checker, task=task, settings=self.settings, seed=self.seed)
        sorted_ = await self._sort_by_level(task, checker, run_blocking)
        if sorted_.reason is None:
            hints: tuple[Target, ...] = ()
            if checker is not None and self.settings.locates and task.images and sorted_.level != "easy":
                hints = await checker.boxes()
            sorted_ = await self._with_solution(sorted_, task, hints, checker, run_blocking)
        return replace(sorted_, verdicts=tuple(checker.verdicts) if checker else ())

    async def _sort_by_level(self, task: Task, checker: Checker | None, run_blocking: RunBlocking) -> QuestionOutcome:
        """The question's level, and why it is left out if it is."""
        outcome = QuestionOutcome(task_id=task.id, level="unsorted")
        if checker is not None and self.settings.checks_images and task.images:
            reason = self._objection(await checker.image(), "unsuitable_image")
            if reason is not None:
                return replace(outcome, reason=reason)
        if checker is not None and self.settings.checks_questions:
            reason = self._objection(await checker.question(), "bad_question")
            if reason is not None:
                return replace(outcome, reason=reason)
        thresholds = self.settings.thresholds
        weak = await self._pass_rate("weak", self.roles.weak, task, run_blocking)
        strong = None
        if weak is None or weak < thresholds.medium_from:
            strong = await self._pass_rate("strong", self.roles.strong, task, run_blocking)
        level = level_of(weak, strong, thresholds)
        reason = "unsolved" if level == "unsolved" else None
        return replace(outcome, level=level, weak=weak, strong=strong, reason=reason)

    async def _with_solution(
        self,
        outcome: QuestionOutcome,
        task: Task,
        hints: tuple[Target, ...],
        checker: Checker | None,
        run_blocking: RunBlocking,
    ) -> QuestionOutcome:
        solver = Solver(
            teacher=self.roles.teacher,
            make_env=self.make_env,
            settings=self.settings,
            run_blocking=run_blocking,
            chains=self.chains,
        )
        tries: list[Rejected] = []
        for way, attempt in self._ways(outcome.level):
            result = await solver.solve(task, way, attempt, seed=self.seed, hints=hints)
            if (
                isinstance(result, Solved)
                and checker is not None
                and self.settings.checks_solutions
                and way != "direct"
            ):
                reason = self._objection(await checker.solution(result.turns), "disagreed")
                result = result if reason is None else Rejected(way=way, reason=reason)
            if isinstance(result, Rejected):
                tries.append(result)
                continue
            example = replace(result.example, task=replace(task, targets=hints)) if hints else result.example
            kind = code_kind(example)
            return replace(
                outcome,
                way=way,
                asked_kind=result.asked_kind,
                kind=kind,
                row=example_row(example, level=outcome.level, way=way, kind=kind),
                tries=tuple(tries),
            )
        return replace(outcome, reason=tries[-1].reason if tries else "no_way", tries=tuple(tries))

    def _ways(self, level: Level) -> list[tuple[Way, int]]:
        if level == "easy":
            return [("direct", 0)]
        ways = self.settings.medium_ways if level == "medium" else self.settings.hard_ways
        return [(way, attempt) for way in ways for attempt in range(self.settings.attempts)]

    def _objection(self, value: Value, reason: Reason) -> Reason | None:
        """The reason that a verdict gives: no verdict is not a bad one."""
        if value == "none":
            return None if self.settings.keeps_unjudged else "no_verdict"
        return reason if value == "bad" else None

    async def _pass_rate(self, role: str, player: Player | None, task: Task, run_blocking: RunBlocking) -> float | None:
        """The share of right answers; samples in which the machine failed count neither way."""
        if player is None:
            return None
        if isinstance(player, Mapping):
            return player[task.id]
        results = await asyncio.gather(
            *(self._passes(role, player, task, sample, run_blocking) for sample in range(self.settings.samples)),
            return_exceptions=True,
        )
        errors = [result for result in results if isinstance(result, BaseException)]
        for error in errors:
            if not isinstance(error, MachineError):
                raise error
        passed = [result for result in results if isinstance(result, bool)]
        if not passed:
            raise errors[0]
        return sum(passed) / len(passed)

    async def _passes(self, role: str, player: ChatModel, task: Task, sample: int, run_blocking: RunBlocking) -> bool:
        env = self.make_env(PLAYED)
        try:
            turns = await play(
                player,
                env,
                task,
                temperature=self.settings.sampling_temperature,
                seed=seed_for(self.seed, "pass rate", role, task.id, sample),
                run_blocking=run_blocking,
            )
        finally:
            await run_blocking(env.close)
        return answer_is_right(task, final_answer(turns))

    def _finish(
        self, tasks: Sequence[Task], journal: Journal[QuestionOutcome], asked: Mapping[str, Counts]
    ) -> CurationReport:
        outcomes = [journal.outcomes[task.id] for task in tasks if task.id in journal.outcomes]
        rows = [outcome.row for outcome in outcomes if outcome.row is not None]
        journal.write(EXAMPLES, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        report = curation_report(outcomes, questions=len(tasks), asked=asked)
        journal.write_report(report)
        return report
