"""Answers that are usual: what is right most often for each program, or pattern of words, at each level of difficulty.

A policy that never looks learns this table first. An audit's tasks are too few for it where a family has many programs,
so a family of the gym is asked more questions, whose pictures are not drawn unless the program looks at them.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from saccade.evaluation.audit.blind import LEAST_OF_PATTERN, Patterns
from saccade.evaluation.audit.drawn import LEVELS
from saccade.evaluation.audit.findings import Checked
from saccade.evaluation.statistics import wilson_interval
from saccade.gym.family import GymFamily, NamedDraw
from saccade.gym.levels import Levels
from saccade.gym.program import Program, sentence
from saccade.gym.rendering import Renderer
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import generator_for
from saccade.types import Task

MARGIN = 0.10
"""What the usual answer of a part may be right more often than a guess."""
LEAST_OF_PART = 20
"""Questions from which a part is judged."""
RARE = 0.02
"""An answer that is right less often counts as its share of one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UsualAnswers:
    """How often the usual answers of a part's levels are right."""

    hits: int
    questions: int
    chance: float
    answer: str
    """What is right most often."""

    @property
    def share(self) -> float:
        return self.hits / self.questions

    def low(self, parts: int) -> float:
        """The lower end of the 95 % interval, as wide as so many looks at once ask for (Bonferroni)."""
        return wilson_interval(self.hits, self.questions, z=NormalDist().inv_cdf(1 - 0.025 / parts))[0]


def unseen_task(family: GymFamily, program: Program, look: Renderer, index: int, levels: Levels, seed: int) -> Task:
    """A question of a program without its picture; ``UserError`` where it finds none."""
    rng = generator_for(seed, "unseen", family.name, program.name, index)
    _, found = family.question(program, look, rng, levels)
    wordings = [sentence(wording, found.words) for wording in program.wordings]
    return Task(
        id=f"{family.name}/{program.name}/{index}",
        family=family.name,
        question=wordings[int(rng.integers(len(wordings)))],
        answer=found.answer,
        answer_kind=found.kind,
        images=(),
        choices=tuple(found.choices[int(i)] for i in rng.permutation(len(found.choices))),
        tolerance=found.tolerance,
        accepted=() if not found.accepted else tuple(dict.fromkeys((found.answer, *found.accepted))),
        difficulty=levels.base,
        buckets=(f"program {program.name}",),
    )


def unseen_tasks(draw: GymFamily | NamedDraw, count: int, seed: int) -> list[Task]:
    """``count`` questions of all programs and levels in turn, without their pictures."""
    family = draw.family if isinstance(draw, NamedDraw) else draw
    named: Mapping[str, float] = draw.levels if isinstance(draw, NamedDraw) else {}
    only, look = (draw.program, draw.renderer) if isinstance(draw, NamedDraw) else (None, None)
    programs = (only,) if only else family.programs
    looks = (look,) if look else family.renderers
    return [
        unseen_task(
            family,
            programs[index % len(programs)],
            looks[index // len(programs) % len(looks)],
            index,
            Levels(base=LEVELS[index // len(programs) % len(LEVELS)], named=named),
            seed,
        )
        for index in range(count)
    ]


def usual_answers(tasks: Sequence[Task], patterns: Patterns) -> dict[str, UsualAnswers]:
    """By pattern, by level and by set of options: each half is answered by what is most frequent in the other."""
    parts: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        parts[patterns.of(task)].append(task)
        parts[f"difficulty {task.difficulty:g}"].append(task)
        if task.choices:
            parts[f"options {', '.join(sorted(task.choices))}"].append(task)
    chance = _chances(tasks, patterns)
    return {part: _usual_answers(of, chance) for part, of in parts.items() if len(of) >= LEAST_OF_PART}


def _chances(tasks: Sequence[Task], patterns: Patterns) -> Mapping[str, float]:
    """By task id: one of its options, or of the answers that its pattern has at its level.

    A pattern that is asked too seldom has the answers that it has at all levels, and no more than its level has, or
    than it was seen with there: levels of few answers each would else be told for knowing which.
    """
    answers: dict[tuple[str, float], Counter[str]] = defaultdict(Counter)
    at_level: dict[float, Counter[str]] = defaultdict(Counter)
    for task in tasks:
        answers[patterns.of(task), task.difficulty][task.answer] += 1
        at_level[task.difficulty][task.answer] += 1
    found = {}
    for task in tasks:
        counts = answers[patterns.of(task), task.difficulty]
        if len(task.choices) > 1:
            found[task.id] = patterns.chance(task)
        elif counts.total() < LEAST_OF_PATTERN:
            found[task.id] = max(patterns.chance(task), _one_of(at_level[task.difficulty]), _one_of(counts))
        else:
            found[task.id] = _one_of(counts)
    return found


def _one_of(counts: Counter[str]) -> float:
    return 1 / max(2.0, sum(min(1.0, count / counts.total() / RARE) for count in counts.values()))


def _usual_answers(tasks: Sequence[Task], chance: Mapping[str, float]) -> UsualAnswers:
    by_level: dict[float, list[Task]] = defaultdict(list)
    for task in tasks:
        by_level[task.difficulty].append(task)
    hits = 0
    for of in by_level.values():
        for asked, known in ((of[0::2], of[1::2]), (of[1::2], of[0::2])):
            ranked = [answer for answer, _ in Counter(task.answer for task in known).most_common()]
            hits += sum(answer_is_right(task, _offered(task, ranked)) for task in asked)
    [(usual, _)] = Counter(task.answer for task in tasks).most_common(1)
    by_chance = sum(chance[task.id] for task in tasks) / len(tasks)
    return UsualAnswers(hits=hits, questions=len(tasks), chance=by_chance, answer=usual)


def _offered(task: Task, ranked: Sequence[str]) -> str | None:
    """The most frequent of the answers that the question offers."""
    return next((text for text in ranked if len(task.choices) < 2 or text in task.choices), None)


def usual_finding(tasks: Sequence[Task], patterns: Patterns) -> Checked:
    """The part whose usual answers are right most often above chance."""
    parts, check = usual_answers(tasks, patterns), "usual answers"
    if not parts:
        note = f"no program and no level has {LEAST_OF_PART} questions; raise -n"
        return Checked(check=check, verdict="not applicable", note=note)
    above = {part: one.low(len(parts)) - one.chance for part, one in parts.items()}
    worst = max(above, key=lambda part: above[part])
    told = sorted((part for part in parts if above[part] > MARGIN), key=lambda part: -above[part])
    rest = f"; so are {', '.join(told[1:6])}" if len(told) > 1 else ""
    return Checked(
        check=check,
        verdict="convicted" if told else "passes",
        figure=parts[worst].share,
        bound=parts[worst].chance + MARGIN,
        note=f"{worst}, {parts[worst].questions} questions{rest}",
        example=f"always {parts[worst].answer!r}",
    )
