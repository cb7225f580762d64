"""Evaluation: tasks played once each, or twice with crops of what a first pass named, and what was measured.

Start in ``evaluate.py`` (``play``: the same rollout and rewards as in training; ``play_with_views``: test-time scaling)
and ``summary.py``. ``one_image.py`` asks one question outside any run; ``grounding``, ``tool_use``, ``errors`` and
``perception`` measure trajectories, ``statistics`` says how sure a figure is.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.evaluation.error_judge import ErrorJudge
    from saccade.evaluation.evaluate import play, play_with_views
    from saccade.evaluation.one_image import SecondLook, answer_one
    from saccade.evaluation.perception import Perception, measured_perception
    from saccade.evaluation.statistics import Accuracy, Difference, paired_difference, wilson_interval
    from saccade.evaluation.summary import StageSummary, summarise
    from saccade.evaluation.views import CropSettings, Views
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "Accuracy",
    "CropSettings",
    "Difference",
    "ErrorJudge",
    "Perception",
    "SecondLook",
    "StageSummary",
    "Views",
    "answer_one",
    "measured_perception",
    "paired_difference",
    "play",
    "play_with_views",
    "summarise",
    "wilson_interval",
]
