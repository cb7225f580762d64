"""Recipes of claims without the evaluations that no figure of them reads; the training is the same."""

from dataclasses import replace

from saccade.config import RecipeContext
from saccade.miniature.argos import tiny
from saccade.train import Evaluate, Plan


def argos(context: RecipeContext) -> Plan:
    """``argos:tiny``, measured as it was trained and on more plates."""
    return without_sets(tiny(context), ("relation", "absent", "count"))


def without_sets(plan: Plan, names: tuple[str, ...]) -> Plan:
    """The plan without its evaluations on these sets of questions."""
    stages = (one for one in plan.stages if not (isinstance(one, Evaluate) and one.name.rpartition("_")[2] in names))
    return replace(plan, stages=tuple(stages))
