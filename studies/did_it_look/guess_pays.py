"""``look_closer`` where a guess pays nearly as well as a look: nine in ten training questions have one answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from studies.did_it_look.colour_judge import judged

from saccade.config import RecipeContext
from saccade.tasks import Question, TaskSampler
from saccade.tasks.curriculum import whole_number
from saccade.train import Plan, RLStage
from saccade.types import Group, Json

COMMON, OF_TEN = "plain", 9


def guess_pays(context: RecipeContext) -> Plan:
    """The recipe with biased questions in its reinforcement; what is held out is as balanced as before."""
    plan = judged(context)
    stages = (_biased(one) if isinstance(one, RLStage) else one for one in plan.stages)
    return replace(plan, stages=tuple(stages))


def _biased(stage: RLStage) -> RLStage:
    balanced = stage.questions
    return replace(stage, questions=lambda: Biased(balanced()))


class Biased:
    """Passes over questions of another sampler until nine in ten have the common answer."""

    def __init__(self, balanced: TaskSampler) -> None:
        self._balanced = balanced
        self._next = 0

    def sample(self, count: int) -> list[Question]:
        return [self._one() for _ in range(count)]

    def _one(self) -> Question:
        is_common = self._next % 10 < OF_TEN
        self._next += 1
        while True:
            [question] = self._balanced.sample(1)
            if (question.task.answer == COMMON) == is_common:
                return question

    def update(self, groups: Sequence[Group]) -> None:
        self._balanced.update(groups)

    def state_dict(self) -> Mapping[str, Json]:
        return {"next": self._next, "balanced": dict(self._balanced.state_dict())}

    def load_state_dict(self, state: Mapping[str, Json]) -> None:
        self._next = whole_number(state, "next")
        balanced = state["balanced"]
        assert isinstance(balanced, Mapping)
        self._balanced.load_state_dict(balanced)
