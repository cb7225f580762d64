"""Training: plans of stages, and the loops that run them.

Start in ``plan.py``: a recipe returns a ``Plan`` of ``SFTStage``, ``RLStage``, ``Evaluate`` (``stages.py``) and
``Derive`` (``artefacts.py``), checked before the first step. ``material.py`` holds what a method is put together from,
``stage_settings.py`` how long and how fast stages learn and by which algorithm. ``run.py`` runs a plan: ``loops.py``
holds the training loops, ``collect.py`` the rollout with refills, ``credit.py`` the way from scored groups to
advantages on tokens.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.rollout import EpisodeSpec
    from saccade.train.artefacts import Derive, DeriveContext, Derived
    from saccade.train.material import Asked, ExampleSource, Material
    from saccade.train.plan import Demonstration, DemonstrationSource, Evaluate, Plan, RLStage, SFTStage, Stage, Stream
    from saccade.train.recipe_loading import load_recipe
    from saccade.train.run import run_plan
    from saccade.train.stage_settings import AlgorithmSettings, ImitationSettings, RLSettings, SFTSettings
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "AlgorithmSettings",
    "Asked",
    "Demonstration",
    "DemonstrationSource",
    "Derive",
    "DeriveContext",
    "Derived",
    "EpisodeSpec",
    "Evaluate",
    "ExampleSource",
    "ImitationSettings",
    "Material",
    "Plan",
    "RLSettings",
    "RLStage",
    "SFTSettings",
    "SFTStage",
    "Stage",
    "Stream",
    "load_recipe",
    "run_plan",
]
