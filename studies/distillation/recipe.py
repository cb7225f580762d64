"""``look_closer`` with a teacher in its reinforcement: the policy itself, which is shown what the question does not."""

from dataclasses import replace

from saccade.config import RecipeContext
from saccade.miniature.look_closer import look_closer
from saccade.train import Plan, RLStage
from saccade.train.stage_settings import TeacherSettings, View


def region(context: RecipeContext) -> Plan:
    """The teacher sees the plate that is asked about."""
    return _taught(look_closer(context), "region")


def answer(context: RecipeContext) -> Plan:
    """The teacher is told the answer."""
    return _taught(look_closer(context), "answer")


def _taught(plan: Plan, view: View) -> Plan:
    teacher = TeacherSettings(model="policy", view=view)
    stages = (replace(one, teacher=teacher) if isinstance(one, RLStage) else one for one in plan.stages)
    return replace(plan, stages=tuple(stages))
