"""Training: plans of stages, and the loops that run them.

Start in ``plan.py``: a recipe returns a ``Plan`` of ``SFTStage``, ``PreferenceStage``, ``RLStage``, ``Evaluate``
(``stages.py``) and ``Derive`` (``artefacts.py``), checked before the first step. ``material.py`` holds what a method is
put together from, ``stage_settings.py`` how long and how fast stages learn and by which algorithm. ``run.py`` runs a
plan: ``loops.py`` and ``preferring.py`` hold the training loops, ``collect.py`` the rollout with refills, ``credit.py``
the way from scored groups to advantages on tokens.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.rollout import EpisodeSpec as EpisodeSpec
    from saccade.train.algorithm_settings import AlgorithmSettings as AlgorithmSettings
    from saccade.train.artefacts import Derive as Derive
    from saccade.train.artefacts import DeriveContext as DeriveContext
    from saccade.train.artefacts import Derived as Derived
    from saccade.train.material import Asked as Asked
    from saccade.train.material import ExampleSource as ExampleSource
    from saccade.train.material import Material as Material
    from saccade.train.plan import Demonstration as Demonstration
    from saccade.train.plan import DemonstrationSource as DemonstrationSource
    from saccade.train.plan import Evaluate as Evaluate
    from saccade.train.plan import Plan as Plan
    from saccade.train.plan import PreferenceStage as PreferenceStage
    from saccade.train.plan import RLStage as RLStage
    from saccade.train.plan import SFTStage as SFTStage
    from saccade.train.plan import Stage as Stage
    from saccade.train.plan import Stream as Stream
    from saccade.train.recipe_loading import load_recipe as load_recipe
    from saccade.train.run import run_plan as run_plan
    from saccade.train.stage_settings import ImitationSettings as ImitationSettings
    from saccade.train.stage_settings import RLSettings as RLSettings
    from saccade.train.stage_settings import SFTSettings as SFTSettings
else:
    __getattr__, __dir__ = names_on_use(__name__)
