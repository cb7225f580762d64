"""Settings of the recipe that distils."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from saccade.algorithms.options import DistillOptions
from saccade.recipes import questions_settings
from saccade.recipes.questions_settings import QuestionsSettings
from saccade.train import RLSettings
from saccade.train.stage_settings import TeacherSettings


def _alone(rl: RLSettings) -> RLSettings:
    """Learning from a teacher alone, in place of the reward."""
    return replace(rl, algorithm=replace(rl.algorithm, distill=DistillOptions(weight=1.0, reward_weight=0.0)))


@dataclass(frozen=True, kw_only=True)
class DistillSettings(QuestionsSettings):
    """Settings of on-policy distillation, for a published model of a few billion parameters (see ``TINY``).

    ``rl`` is the stage that distils; ``rl.algorithm.distill`` says how, and ``rl.algorithm.distill.reward_weight=1``
    adds the reward. A ``group_size`` of 1 asks many questions once, where no reward is compared.
    """

    teacher: TeacherSettings = TeacherSettings()
    rl: RLSettings = _alone(QuestionsSettings().rl)
    families: tuple[str, ...] = ()
    """Drawn families that ask in place of ``--data``: visual_search, or FILE.py:NAME."""
    difficulty: float = 0.5
    """Of drawn questions."""
    held_out_tasks: int = 200
    """Drawn questions that are measured."""

    def unused(self) -> Mapping[str, str]:
        """What nothing reads beside the other settings, and why."""
        own, drawn = ("held_out_share", "pass_rates", "judge"), ("difficulty", "held_out_tasks")
        why = "questions are drawn from families" if self.families else "without families questions are those of --data"
        taught = self.rl.algorithm.distill.weight > 0
        return {
            **dict.fromkeys(own if self.families else drawn, why),
            **({} if taught else {"teacher": "rl.algorithm.distill.weight=0 learns from no teacher"}),
        }


TINY = DistillSettings(
    **{one.name: getattr(questions_settings.TINY, one.name) for one in fields(QuestionsSettings) if one.name != "rl"},
    rl=_alone(questions_settings.TINY.rl),
)
"""The defaults for models below ``TINY_BELOW_WEIGHTS``."""
