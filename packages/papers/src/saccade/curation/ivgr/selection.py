"""Selection of iVGR's general subset: questions of the textual stream that a model answers right now and then.

A model answers each question ``samples`` times as the textual stream asks it, and those with a pass rate in a band are
kept; in the paper 1 or 2 right of 5 by the model after its cold start (iVGR, appendix B).
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from saccade.chat.chat_model import ChatModel
from saccade.codec.bounds import Bounds, NotNegative, Positive, check_bounds
from saccade.codec.codecs import plain_json
from saccade.codec.forms import Form
from saccade.curation.journal import Journal, work_off
from saccade.curation.reports import Counts, SelectionReport
from saccade.curation.rows import IMAGES, boxes_of, question_row
from saccade.media.store import MediaStore
from saccade.protocols.two_streams import TEXTUAL, textual_protocol
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.rollout.conversation import ORIGINAL_VIEW
from saccade.seeding import seed_for
from saccade.tasks.curriculum import HARD_OF_FIVE, Band
from saccade.turn_ends import up_to_stop
from saccade.types import Answer, Json, Task

QUESTIONS, PASS_RATES = "questions.jsonl", "pass_rates.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionSettings:
    """Settings of selecting questions by pass rate."""

    samples: Positive = 5
    low: float = HARD_OF_FIVE.low
    """Lowest pass rate that is kept."""
    high: float = HARD_OF_FIVE.high
    """Highest pass rate that is kept."""
    sampling_temperature: NotNegative = 1.0
    questions_at_once: Positive = 16

    def check(self) -> None:
        check_bounds(self)
        # The bounds check themselves.
        Band(low=self.low, high=self.high)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A question's pass rate; its line of JSON is one of a file of pass rates."""

    FORM: ClassVar = Form(keys={"task_id": "id"})

    task_id: Annotated[str, Bounds(least=1)]
    pass_rate: Annotated[float, Bounds(least=0, most=1)]

    def as_json(self) -> dict[str, Json]:
        return plain_json(self)


@dataclass(kw_only=True)
class QuestionSelection:
    """Selects questions into the folder of a journal."""

    solver: ChatModel | Mapping[str, float]
    """The model that answers, or the pass rates that are known already, by task id."""
    media: MediaStore
    settings: SelectionSettings = field(default_factory=SelectionSettings)
    seed: int = 0

    async def run(
        self,
        tasks: Sequence[Task],
        journal: Journal[Measured],
        *,
        counts: Callable[[], Mapping[str, Counts]] = dict,
        on_outcome: Callable[[Measured], None] = lambda _: None,
    ) -> SelectionReport:
        """Measures what has no pass rate yet, then writes questions, rates and report. Raises as ``work_off`` does."""
        self.settings.check()
        await work_off(
            {task.id: task for task in tasks},
            self._measure,
            journal,
            at_once=self.settings.questions_at_once,
            on_outcome=on_outcome,
        )
        rates = {task.id: journal.outcomes[task.id].pass_rate for task in tasks if task.id in journal.outcomes}
        band = Band(low=self.settings.low, high=self.settings.high)
        kept = [task for task in tasks if task.id in rates and band.holds(rates[task.id])]
        rows = [self._row(task, rates[task.id], journal) for task in kept]
        lines = [Measured(task_id=key, pass_rate=rate).as_json() for key, rate in rates.items()]
        report = SelectionReport(
            questions=len(tasks),
            kept=len(kept),
            failed=len(tasks) - len(rates),
            dropped={
                "above": sum(rate > band.high for rate in rates.values()),
                "below": sum(rate < band.low for rate in rates.values()),
            },
            pass_rates={f"{rate:g}": count for rate, count in sorted(Counter(rates.values()).items())},
            asked=counts(),
        )
        journal.write(QUESTIONS, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        journal.write(PASS_RATES, "".join(json.dumps(line) + "\n" for line in lines))
        journal.write_report(report)
        return report

    async def _measure(self, task: Task) -> Measured:
        if isinstance(self.solver, Mapping):
            return Measured(task_id=task.id, pass_rate=self.solver[task.id])
        protocol, samples = textual_protocol(), self.settings.samples
        replies = await self.solver(
            protocol.prompt(task, (), ORIGINAL_VIEW),
            temperature=self.settings.sampling_temperature,
            samples=samples,
            seed=seed_for(self.seed, "pass rate", task.id),
        )
        actions = [protocol.parse(up_to_stop(reply, protocol.stop)).action for reply in replies]
        passed = sum(isinstance(action, Answer) and answer_is_right(task, action.text) for action in actions)
        return Measured(task_id=task.id, pass_rate=passed / samples)

    def _row(self, task: Task, rate: float, journal: Journal[Measured]) -> dict[str, Json]:
        """As iVGR's published file has it: a question with its wording for the textual stream."""
        images = [self.media.export_source(image, journal.directory / IMAGES) for image in task.images]
        row = question_row(task, [f"{IMAGES}/{path.name}" for path in images])
        row["problem"] = row.pop("question")
        if TEXTUAL in task.wordings:
            row["query"] = task.wordings[TEXTUAL]
        if task.targets:
            del row["boxes"]
            row["target_instances"] = boxes_of(task)
        return {**row, "pass_rate": rate}
