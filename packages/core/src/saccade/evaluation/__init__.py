"""Evaluation: tasks played once each, or twice with crops of what a first pass named, and what was measured.

Start in ``evaluate.py`` (``play``: the same rollout and rewards as in training; ``play_with_views``: test-time scaling)
and ``summary.py``. ``one_image.py`` asks one question outside any run; ``grounding``, ``tool_use``, ``errors`` and
``perception`` measure trajectories, ``statistics`` says how sure a figure is.
"""

from pkgutil import extend_path
from typing import TYPE_CHECKING

from saccade.faces import names_on_use

__path__ = extend_path(__path__, __name__)

if TYPE_CHECKING:
    from saccade.evaluation.error_judge import ErrorJudge as ErrorJudge
    from saccade.evaluation.evaluate import play as play
    from saccade.evaluation.evaluate import play_with_views as play_with_views
    from saccade.evaluation.one_image import SecondLook as SecondLook
    from saccade.evaluation.one_image import answer_one as answer_one
    from saccade.evaluation.perception import Perception as Perception
    from saccade.evaluation.perception import measured_perception as measured_perception
    from saccade.evaluation.statistics import Accuracy as Accuracy
    from saccade.evaluation.statistics import Difference as Difference
    from saccade.evaluation.statistics import paired_difference as paired_difference
    from saccade.evaluation.statistics import wilson_interval as wilson_interval
    from saccade.evaluation.summary import StageSummary as StageSummary
    from saccade.evaluation.summary import summarise as summarise
    from saccade.evaluation.views import CropSettings as CropSettings
    from saccade.evaluation.views import Views as Views
else:
    __getattr__, __dir__ = names_on_use(__name__)
