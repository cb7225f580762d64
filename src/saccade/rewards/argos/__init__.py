"""Argos (Multimodal Reinforcement Learning with Agentic Verifier): scorers picked for each task, gated by its answer.

Start in ``spatial.py`` and ``scores.py``, which have the equations and what was decided where the paper is silent,
then ``reward.py`` (equation 9) over ``verifier.py``. ``regions.py`` is what points are held against, ``selection.py``
picks the scorers.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.chat.answer_scoring import AnswerRequest, AnswerScorer
    from saccade.rewards.argos.ground_truth import TruthAgreement, agreement_with_truth
    from saccade.rewards.argos.model_regions import ModelRegions, RegionFinding
    from saccade.rewards.argos.moment_reader import ModelMoments
    from saccade.rewards.argos.pointers import VisionPointer, read_points
    from saccade.rewards.argos.region_cache import CachedRegions
    from saccade.rewards.argos.regions import ExactRegions, NoisyRegions, RegionRequest, Regions
    from saccade.rewards.argos.reward import ArgosReward
    from saccade.rewards.argos.scores import answer_probability, gated, relative_accuracy, video_score
    from saccade.rewards.argos.selection import ModelSelector, RuleSelector, Selection, Selector
    from saccade.rewards.argos.spatial import spatial_score
    from saccade.rewards.argos.verifier import Verifier, VerifierForms, VideoJudge
    from saccade.rewards.argos.video_judge import FramesJudge
    from saccade.rewards.mentions import frame_of, segment_of
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "AnswerRequest",
    "AnswerScorer",
    "ArgosReward",
    "CachedRegions",
    "ExactRegions",
    "FramesJudge",
    "ModelMoments",
    "ModelRegions",
    "ModelSelector",
    "NoisyRegions",
    "RegionFinding",
    "RegionRequest",
    "Regions",
    "RuleSelector",
    "Selection",
    "Selector",
    "TruthAgreement",
    "Verifier",
    "VerifierForms",
    "VideoJudge",
    "VisionPointer",
    "agreement_with_truth",
    "answer_probability",
    "frame_of",
    "gated",
    "read_points",
    "relative_accuracy",
    "segment_of",
    "spatial_score",
    "video_score",
]
