"""The audit of a family: draws its tasks and runs every check over them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from saccade.errors import UserError
from saccade.evaluation.audit.answers import (
    ambiguity_finding,
    erased_finding,
    options_finding,
    other_picture_finding,
)
from saccade.evaluation.audit.beside import beside_finding, same_evidence_finding
from saccade.evaluation.audit.blind import Patterns, prior_finding, words_finding
from saccade.evaluation.audit.difficulty import difficulty_finding
from saccade.evaluation.audit.drawn import DrawnFamily, drawn_family
from saccade.evaluation.audit.experts import expert_finding
from saccade.evaluation.audit.findings import Checked, FamilyAudit
from saccade.evaluation.audit.golden import GoldenHashes, bytes_finding
from saccade.evaluation.audit.gym_programs import (
    axes_finding,
    golden_finding,
    gym_draw,
    negatives_finding,
    paraphrases_finding,
    second_solver_finding,
)
from saccade.evaluation.audit.likeness import (
    FamilyLook,
    copies_across_finding,
    copies_within_finding,
    look_of,
    other_families_finding,
    splits_finding,
)
from saccade.evaluation.audit.regions import evidence_finding
from saccade.evaluation.audit.thumbnail import ThumbnailProbe, thumbnail_finding
from saccade.evaluation.audit.usual import unseen_tasks, usual_finding
from saccade.tasks.procedural import Family


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditSettings:
    """How many tasks are drawn and played."""

    tasks: int = 400
    """Of the training split; half as many are held out."""
    experts: int = 40
    seed: int = 0
    only: tuple[str, ...] = ()
    """Names of the checks to run; all where none is named. Speed and memory always come along."""


COMPARED = ("copies in another family",)
"""Checks that need other families."""
COSTS = ("speed", "memory")
UNSEEN = 4
"""Questions without pictures that a family of the gym is asked for each task that is drawn."""


@dataclass(frozen=True, kw_only=True)
class Audited:
    """An audit with what further checks and pages need of the family."""

    audit: FamilyAudit
    look: FamilyLook
    drawn: DrawnFamily


def audited_family(family: Family, settings: AuditSettings, golden: GoldenHashes | None = None) -> Audited:
    """The checks on one family, but for those that compare it with others; UserError where it cannot be drawn."""
    drawn = drawn_family(family, tasks=settings.tasks, seed=settings.seed)
    checks = _checks(family, drawn, settings, golden)
    if unknown := set(settings.only) - {*checks, *COMPARED, *COSTS}:
        raise UserError(f"there is no check {sorted(unknown)[0]!r}; the checks are {', '.join((*checks, *COMPARED))}")
    wanted = [check for name, check in checks.items() if not settings.only or name in settings.only]
    findings = (*(check() for check in wanted), *_costs(drawn))
    audit = FamilyAudit(family=drawn.name, tasks=len(drawn.all), findings=findings)
    return Audited(audit=audit, look=look_of(drawn), drawn=drawn)


def _checks(
    family: Family, drawn: DrawnFamily, settings: AuditSettings, golden: GoldenHashes | None
) -> Mapping[str, Callable[[], Checked]]:
    """The checks by name; what several of them need is worked out once, when the first one asks."""
    train, test = [one.task for one in drawn.train], [one.task for one in drawn.held_out]
    patterns = Patterns([*train, *test])
    prior = cache(lambda: prior_finding(train, test, patterns))
    words = cache(lambda: words_finding(train, test, patterns))
    probe = cache(lambda: ThumbnailProbe(drawn, train))

    def blind() -> float:
        return max(prior().figure or 0.0, words().figure or 0.0)

    checks: dict[str, Callable[[], Checked]] = {
        "prior": prior,
        "usual answers": lambda: usual_finding([*train, *test], patterns),
        "question's words": words,
        "thumbnail": lambda: thumbnail_finding(drawn, probe(), patterns, blind()),
        "other picture": lambda: other_picture_finding(drawn, probe, patterns, blind()),
        "options": lambda: options_finding(drawn),
        "ambiguous": lambda: ambiguity_finding(drawn),
        "evidence": lambda: evidence_finding(drawn),
        "same evidence": lambda: same_evidence_finding(drawn, patterns),
        "beside the evidence": lambda: beside_finding(drawn, patterns, blind()),
        "evidence matters": lambda: erased_finding(drawn, patterns, blind()),
        "splits": lambda: splits_finding(drawn),
        "copies across splits": lambda: copies_across_finding(drawn),
        "copies within": lambda: copies_within_finding(drawn),
        "bytes": lambda: bytes_finding(family, drawn.name, seed=settings.seed, golden=golden),
        "expert": lambda: expert_finding(drawn, most=settings.experts),
        "difficulty": lambda: difficulty_finding(drawn),
    }
    if (gym := gym_draw(drawn.draw)) is not None:
        samples = cache(lambda: gym.samples(settings.tasks // 2, settings.seed))
        unseen = cache(lambda: unseen_tasks(gym.draw, UNSEEN * settings.tasks, settings.seed))
        in_another_process = checks["bytes"]
        checks |= {
            "usual answers": lambda: usual_finding(unseen(), Patterns(unseen())),
            "bytes": lambda: golden_finding(gym, in_another_process()),
            "ambiguous": lambda: second_solver_finding(samples()),
            "hard negatives": lambda: negatives_finding(samples()),
            "paraphrases": lambda: paraphrases_finding(samples()),
            "axes": lambda: axes_finding(gym, settings.seed),
            "difficulty": lambda: difficulty_finding(drawn, {"scene": gym.hardness(settings.seed)}),
        }
    return checks


def with_shared_looks(audits: Sequence[FamilyAudit], looks: Sequence[FamilyLook]) -> list[FamilyAudit]:
    """The audits with what each family shares with the others."""
    return [
        replace(
            audit,
            findings=(*audit.findings, other_families_finding(look, [one for one in looks if one is not look])),
        )
        for audit, look in zip(audits, looks)
    ]


def _costs(drawn: DrawnFamily) -> tuple[Checked, Checked]:
    per_task_ms = 1000 * drawn.cpu_s / len(drawn.all)
    return (
        Checked(
            check="speed",
            verdict="reported",
            figure=per_task_ms,
            note="milliseconds of processor time a task, drawn for its split",
        ),
        Checked(
            check="memory",
            verdict="reported",
            figure=drawn.memory_mib,
            note=f"MiB that the process grew by while {len(drawn.all)} tasks were drawn and kept",
        ),
    )
