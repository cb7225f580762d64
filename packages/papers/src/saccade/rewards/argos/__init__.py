"""Argos (Multimodal Reinforcement Learning with Agentic Verifier): scorers picked for each task, gated by its answer.

Start in ``spatial.py`` and ``scores.py``, which have the equations and what was decided where the paper is silent,
then ``reward.py`` (equation 9) over ``verifier.py``. ``regions.py`` is what points are held against, ``selection.py``
picks the scorers.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.chat.answer_scoring import AnswerRequest as AnswerRequest
    from saccade.chat.answer_scoring import AnswerScorer as AnswerScorer
    from saccade.rewards.argos.ground_truth import TruthAgreement as TruthAgreement
    from saccade.rewards.argos.ground_truth import agreement_with_truth as agreement_with_truth
    from saccade.rewards.argos.model_regions import ModelRegions as ModelRegions
    from saccade.rewards.argos.model_regions import RegionFinding as RegionFinding
    from saccade.rewards.argos.moment_reader import ModelMoments as ModelMoments
    from saccade.rewards.argos.pointers import VisionPointer as VisionPointer
    from saccade.rewards.argos.pointers import read_points as read_points
    from saccade.rewards.argos.region_cache import CachedRegions as CachedRegions
    from saccade.rewards.argos.regions import ExactRegions as ExactRegions
    from saccade.rewards.argos.regions import NoisyRegions as NoisyRegions
    from saccade.rewards.argos.regions import RegionRequest as RegionRequest
    from saccade.rewards.argos.regions import Regions as Regions
    from saccade.rewards.argos.reward import ArgosReward as ArgosReward
    from saccade.rewards.argos.scores import answer_probability as answer_probability
    from saccade.rewards.argos.scores import gated as gated
    from saccade.rewards.argos.scores import relative_accuracy as relative_accuracy
    from saccade.rewards.argos.scores import video_score as video_score
    from saccade.rewards.argos.selection import ModelSelector as ModelSelector
    from saccade.rewards.argos.selection import RuleSelector as RuleSelector
    from saccade.rewards.argos.selection import Selection as Selection
    from saccade.rewards.argos.selection import Selector as Selector
    from saccade.rewards.argos.spatial import spatial_score as spatial_score
    from saccade.rewards.argos.verifier import Verifier as Verifier
    from saccade.rewards.argos.verifier import VerifierForms as VerifierForms
    from saccade.rewards.argos.verifier import VideoJudge as VideoJudge
    from saccade.rewards.argos.video_judge import FramesJudge as FramesJudge
    from saccade.rewards.mentions import frame_of as frame_of
    from saccade.rewards.mentions import segment_of as segment_of
else:
    __getattr__, __dir__ = names_on_use(__name__)
