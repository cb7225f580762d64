"""How far a judge of answers can be trusted: beside rules, a second judge, people, and itself with the order swapped.

Every verdict is kept. A judge that fails, or replies in another form, gives no verdict: counted, in no agreement.
"""

import asyncio
import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from saccade.codec.forms import Form
from saccade.errors import UserError
from saccade.evaluation.statistics import RaterAgreement, rater_agreement
from saccade.plain_files import ANY_BYTES, open_plain_text, plain_lines, plain_text
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.rewards.judges.llm_judge import AnswerJudge
from saccade.types import FREE_TEXT, Attempt

_RIGHT: Mapping[str, bool] = {
    **dict.fromkeys(("right", "true", "yes", "1", "correct"), True),
    **dict.fromkeys(("wrong", "false", "no", "0", "incorrect"), False),
}
_UNCLEAR = ("unclear", "")
Labels = Mapping[tuple[str, int], bool]
"""Labels of people, by question and sample."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerVerdicts:
    """All verdicts on one answer; None where there is none."""

    id: str
    sample: int
    answer: str
    gold: str
    rule: bool | None
    """What the rules say; None of free text that they do not find right, which they cannot decide."""
    judge: bool | None
    swapped: bool | None
    """The same judge's, with the answer before the right one."""
    second: bool | None
    human: bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeAgreement:
    """How a judge agrees with others on the answers of an evaluation."""

    FORM: ClassVar = Form(keys={"with_itself": "with_itself_swapped", "with_second": "with_second_judge"})

    answers: int
    no_verdict: int
    """Answers on which the judge gave no verdict."""
    no_verdict_swapped: int
    """The same with the order swapped."""
    with_rules: RaterAgreement
    """Where rules decide: options, numbers, words of a closed set, and free text that they find right."""
    with_itself: RaterAgreement
    """With the order swapped."""
    with_second: RaterAgreement | None
    with_people: RaterAgreement | None
    rules_with_people: RaterAgreement | None

    def describe(self) -> str:
        """Lines for the terminal."""
        without = f"{self.no_verdict:,} without a verdict ({self.no_verdict_swapped:,} in the swapped order)"
        lines = [f"{self.answers:,} answers judged, {without}"]
        return "\n".join(
            lines
            + [f"    {name.replace('_', ' ')}: {found.describe()}" for name, found in self._named.items() if found]
        )

    @property
    def _named(self) -> Mapping[str, RaterAgreement | None]:
        return {
            "with_rules": self.with_rules,
            "with_itself_swapped": self.with_itself,
            "with_second_judge": self.with_second,
            "with_people": self.with_people,
            "rules_with_people": self.rules_with_people,
        }


async def verdicts(
    attempts: Sequence[Attempt], judge: AnswerJudge, *, second: AnswerJudge | None = None, labels: Labels | None = None
) -> list[AnswerVerdicts]:
    """All verdicts on the attempts that ended with an answer; the judge is asked about each in both orders."""
    answered = [(one, answer) for one in attempts if (answer := one.trajectory.answer) is not None]

    async def verdicts_on(attempt: Attempt, answer: str) -> AnswerVerdicts:
        task, sample = attempt.task, attempt.trajectory.sample
        given, swapped = await asyncio.gather(judge.verdict(task, answer), judge.verdict(task, answer, is_swapped=True))
        is_right = answer_is_right(task, answer)
        return AnswerVerdicts(
            id=task.id,
            sample=sample,
            answer=answer,
            gold=task.answer,
            rule=None if task.answer_kind in FREE_TEXT and not is_right else is_right,
            judge=given,
            swapped=swapped,
            second=None if second is None else await second.verdict(task, answer),
            human=(labels or {}).get((task.id, sample)),
        )

    return list(await asyncio.gather(*(verdicts_on(attempt, answer) for attempt, answer in answered)))


def judge_agreement(found: Sequence[AnswerVerdicts]) -> JudgeAgreement:
    """The agreement of the judge's verdicts with all others, each over the answers on which both gave one."""
    has_second, has_people = any(one.second is not None for one in found), any(one.human is not None for one in found)
    return JudgeAgreement(
        answers=len(found),
        no_verdict=sum(one.judge is None for one in found),
        no_verdict_swapped=sum(one.swapped is None for one in found),
        with_rules=_agreement([(one.judge, one.rule) for one in found]),
        with_itself=_agreement([(one.judge, one.swapped) for one in found]),
        with_second=_agreement([(one.judge, one.second) for one in found]) if has_second else None,
        with_people=_agreement([(one.judge, one.human) for one in found]) if has_people else None,
        rules_with_people=_agreement([(one.rule, one.human) for one in found]) if has_people else None,
    )


def _agreement(pairs: Sequence[tuple[bool | None, bool | None]]) -> RaterAgreement:
    both = [(one, other) for one, other in pairs if one is not None and other is not None]
    return rater_agreement([one for one, _ in both], [other for _, other in both])


def read_labels(path: Path) -> Labels:
    """Labels of people from a CSV or JSON-lines file with ``id``, ``label`` (right or wrong) and perhaps ``sample``.

    A label ``unclear`` is none. UserError that names the line of what cannot be read.
    """
    labels: dict[tuple[str, int], bool] = {}
    for number, row in enumerate(_rows(path), start=1):
        name, label = row.get("id"), str(row.get("label", row.get("verdict", ""))).strip().casefold()
        sample = str(row.get("sample") or 0)
        if not isinstance(name, str) or not name or not sample.isdecimal():
            raise UserError(f"{path}, row {number}: id must name a question, sample be a number; it has {dict(row)}")
        if label in _UNCLEAR:
            continue
        if label not in _RIGHT:
            raise UserError(f"{path}, row {number}: label is {label!r}; write right, wrong or unclear")
        labels[name, int(sample)] = _RIGHT[label]
    if not labels:
        raise UserError(f"{path} holds no labels; it needs the columns id and label")
    return labels


def _rows(path: Path) -> Sequence[Mapping[str, object]]:
    try:
        if path.suffix.casefold() != ".csv":
            rows = [json.loads(line) for line in plain_text(path, max_bytes=ANY_BYTES).splitlines() if line.strip()]
            if not all(isinstance(row, dict) for row in rows):
                raise UserError(f"{path}: each line must be a JSON object")
            return rows
        with open_plain_text(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(plain_lines(file)))
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error


def verdict_lines(found: Sequence[AnswerVerdicts]) -> str:
    """JSON lines of all verdicts."""
    return "".join(json.dumps(asdict(one)) + "\n" for one in found)
