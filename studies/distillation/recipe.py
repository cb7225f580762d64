"""``look_closer`` with a teacher in its reinforcement: the policy itself, which is shown what the question does not."""

from dataclasses import replace

from saccade.config import RecipeContext
from saccade.miniature.look_closer import look_closer
from saccade.models import base_checkpoint
from saccade.train import Plan, RLStage
from saccade.train.stage_settings import TeacherSettings


def region(context: RecipeContext) -> Plan:
    """The teacher is the policy of the moment and sees the plate that is asked about."""
    return _taught(context, TeacherSettings(model="policy", view="region"))


def start(context: RecipeContext) -> Plan:
    """The same, with the weights that reinforcement began with."""
    return _taught(context, TeacherSettings(model="start", view="region"))


def answer(context: RecipeContext) -> Plan:
    """The teacher is the policy of the moment and is told the answer."""
    return _taught(context, TeacherSettings(model="policy", view="answer"))


def base(context: RecipeContext) -> Plan:
    """The teacher is the base model, which looks in the right place and is shown nothing more."""
    return _taught(context, TeacherSettings(model=str(base_checkpoint())))


def _taught(context: RecipeContext, teacher: TeacherSettings) -> Plan:
    plan = look_closer(context)
    stages = (replace(one, teacher=teacher) if isinstance(one, RLStage) else one for one in plan.stages)
    return replace(plan, stages=tuple(stages))
