"""Every rank but the first: it has the plan too, and makes the calls of the learner that the first one orders."""

from collections.abc import Mapping
from contextlib import ExitStack

from saccade.learner.learner import Learner
from saccade.learner.processes import Company
from saccade.media.packed import add_packed
from saccade.media.store import MediaStore
from saccade.train.leading import Order, StageStart
from saccade.train.plan import LearningStage, Plan
from saccade.train.stage_learner import model_at, stage_learner, stage_loss
from saccade.train.state import repeatable


def follow_plan(plan: Plan, *, media: MediaStore, seed: int, threads: int, company: Company) -> None:
    """Learns with the first rank until its run is over; nothing is played, measured or recorded here."""
    plan.check()
    with ExitStack() as stack:
        stack.enter_context(repeatable(threads=threads, load=plan.load))
        pictures = stack.enter_context(ExitStack())
        pictures.enter_context(media.temporary())
        follower = _Follower(plan, media=media, seed=seed, company=company)
        while isinstance(order := company.order(), Order):
            if order.forgets:
                pictures.close()
                pictures.enter_context(media.temporary())
            add_packed(media, order.pictures)
            with company.sharing_failures():
                follower.obey(order.method, order.arguments)


class _Follower:
    """This rank's part of the stage that is learned at present."""

    def __init__(self, plan: Plan, *, media: MediaStore, seed: int, company: Company) -> None:
        self._plan = plan
        self._media = media
        self._seed = seed
        self._company = company
        self._part: tuple[Learner, LearningStage, StageStart] | None = None
        """Learner, stage and what it began with."""

    def obey(self, method: str, arguments: Mapping[str, object]) -> None:
        """Makes the call; its results are those of the first rank, which has them itself."""
        if method == "begin":
            [start] = arguments.values()
            assert isinstance(start, StageStart)
            self._begin(start)
            return
        assert self._part is not None
        learner, stage, start = self._part
        if method == "take_reference":
            learner.take_reference(lambda: model_at(self._plan, start.first_policy, self._media))
        elif method == "update":
            loss = stage_loss(stage, is_stale=arguments["is_stale"] is True)
            learner.update(loss=loss, **arguments)  # type: ignore[arg-type]
        else:
            getattr(learner, method)(**arguments)

    def _begin(self, start: StageStart) -> None:
        # First, so that the last stage's memory is free before this one's is taken.
        self._part = None
        stage = next(one for one in self._plan.stages if one.name == start.stage)
        assert isinstance(stage, LearningStage)
        model = model_at(self._plan, start.checkpoint, self._media)
        learner = stage_learner(stage, model, seed=self._seed, ranks=self._company, sharding=self._company.sharding)
        self._part = learner, stage, start
