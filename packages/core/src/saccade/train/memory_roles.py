"""What each process of a run does, as far as its memory goes."""

from dataclasses import dataclass

from saccade.config.fleet import FleetSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class Role:
    """What a process of a run does; the default is that of a run of one process."""

    name: str = ""
    """Whose memory it is, in words; empty for the only process."""
    count: int = 1
    """Processes that do it."""
    learners: int = 1
    """Processes that the learner's weights are split over; 0: this one learns nothing."""
    samples: bool = True
    has_copy: bool = False
    """Whether it holds the model a second time, whole, as the first of several learners does."""
    gpu_share: float = 1.0
    """Of a GPU, which others may use too."""

    @property
    def is_first_learner(self) -> bool:
        """Whether it is the only learner, or the one that leads the others."""
        return self.learners == 1 or self.has_copy


def roles_of(fleet: FleetSettings, *, is_served: bool = False) -> tuple[Role, ...]:
    """The roles of a fleet, each with how many processes have it.

    Rollout workers play all that is played, evaluations too; without them the first learner does. ``is_served``: a
    server samples, whose memory is not counted here.
    """
    learners, plays_itself = fleet.learners, not fleet.rollouts and not is_served
    share = min(1.0, fleet.learner_gpus) or 1.0
    if learners == 1 and not fleet.rollouts:
        return (Role(samples=plays_itself, gpu_share=share),)
    first = Role(
        name="the first learner" if learners > 1 else "the learner",
        learners=learners,
        samples=plays_itself,
        has_copy=learners > 1,
        gpu_share=share,
    )
    others = Role(
        name=_each("other learner", learners - 1),
        count=learners - 1,
        learners=learners,
        samples=False,
        gpu_share=share,
    )
    worker_share = min(1.0, fleet.rollout_gpus) or 1.0
    worker = Role(
        name=_each("rollout worker", fleet.rollouts), count=fleet.rollouts, learners=0, gpu_share=worker_share
    )
    has_workers = fleet.rollouts and not is_served
    return (first, *([others] if learners > 1 else []), *([worker] if has_workers else []))


def _each(what: str, count: int) -> str:
    return f"the {what}" if count == 1 else f"each of {count} {what}s"
