"""Rules for resuming a run with changed settings: those without effect on results may change, others by name."""

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from saccade.config.settings import ABSENT, Change, to_json
from saccade.config.sources import RecipeSource
from saccade.errors import UserError
from saccade.runs.position import Position
from saccade.train.plan import Plan, RLStage
from saccade.types import Json

ACCEPT_ALL = "all"
RECIPE_KEY = "recipe"
"""Names a changed source of the recipe in ``--accept-change``."""

WITHOUT_EFFECT = ("checkpoint_every", "checkpoints_kept", "evaluate_every", "overlap", "offload_activations")
"""Last words of settings that say when something is written, measured or sampled, and what stays of it."""
ROUNDING_ONLY = (
    *("threads", "micro_batch_tokens", "activation_checkpointing", "vision_checkpointing", "compile", "pack_attention"),
    *("max_rows", "max_chunk_tokens", "cache_tokens", "feature_mib", "prefix_caching", "drafts", "paged_attention"),
    "keep_graphs",
    *("learners", "wrap", "rollouts", "deterministic", "batch_invariant"),
)
"""Last words of settings that give the same results up to the order of floating-point sums."""

_RECIPE_PREFIX = "recipe."
_SOURCE_KEY = "inputs.recipe_sha256"
_NEW_KEYS = ("inputs.recipe", "inputs.env_sha256", "inputs.family_", "inputs.few_shot_sha256", "stages")
_FLEET = "fleet"
"""The group that a run of one process does not have."""
_MOST_LISTED = 12

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ResumeRules:
    """Judges the changes between the settings of a run on disk and those that it is resumed with."""

    plan: Plan
    accepted: Collection[str]
    """Keys, or groups of keys, that may change whatever they do; ``recipe`` is its source, ``all`` is every key."""
    reached: Callable[[], Position | None]
    """Position of the newest checkpoint."""
    source: RecipeSource | None = None
    sources: Path | None = None
    """Where the run keeps the sources of its recipe."""

    def __call__(self, changes: Sequence[Change]) -> tuple[str, ...]:
        """The changes that are made, a line each, for the run's records.

        Raises UserError that lists those that are refused, each with its reason, and says how to accept them.
        """
        refused: list[str] = []
        made: list[str] = []
        for change in changes:
            key = _key(change)
            why = self._objection(change)
            if why is not None and not any(_is_below(key, accepted) for accepted in self.accepted):
                refused.append(self._change_text(change) + (f" ({why})" if why else ""))
                continue
            made.append(_line(change))
            if change.key.rpartition(".")[2] in (*ROUNDING_ONLY, _FLEET):
                logger.warning("%s: from here on results differ by rounding from an unchanged run's", _line(change))
            elif why is not None:
                logger.warning("%s: accepted; the run is no longer the one of a single settings.json", _line(change))
        if refused:
            listed = "\n  ".join(refused[:_MOST_LISTED])
            if len(refused) > _MOST_LISTED:
                # Another recipe has nearly no setting in common, and nobody accepts a hundred changes.
                raise UserError(
                    f"the run was started with other settings, or by another recipe:\n  {listed}\n  and "
                    f"{len(refused) - _MOST_LISTED} more. Resume it as its config.yaml has it, or choose another --out"
                )
            keys = [_key(change) for change in changes if self._objection(change) is not None]
            raise UserError(
                f"the run was started with other settings:\n  {listed}\n"
                "Resume it with the settings that it was started with, choose another --out, or go on with the "
                f"change by {' '.join(f'--accept-change {key}' for key in dict.fromkeys(keys))}"
            )
        keys = [_key(change) for change in changes]
        if unknown := [one for one in self.accepted if not any(_is_below(key, one) for key in keys)]:
            logger.warning("--accept-change %s: nothing of that name has changed", ", ".join(unknown))
        return tuple(made)

    def _objection(self, change: Change) -> str | None:
        """Why a change is not harmless, perhaps in no words; None for one that is."""
        name = change.key.rpartition(".")[2]
        if name in (*WITHOUT_EFFECT, *ROUNDING_ONLY, _FLEET):
            return None
        if change.key.startswith(_NEW_KEYS) and change.before == ABSENT:
            # A run that an earlier version started did not record these.
            return None
        if change.before == ABSENT and change.after in (None, self._default_of(change)):
            # A setting that the version of then did not have. At its default everything is as it was.
            return None
        if (name, change.before, change.after) == ("importance", "none", "auto") and not self._is_ever_stale:
            # What earlier versions called "none" is what "auto" does with the batches of the present policy.
            return None
        if name == "steps":
            return self._objection_to_steps(change)
        return ""

    def _default_of(self, change: Change) -> Json:
        """What a setting of the recipe is where neither recipe nor user sets it; ``ABSENT`` for anything else."""
        prefix, *path, name = change.key.split(".")
        group: Any = self.plan.settings if prefix == _RECIPE_PREFIX.rstrip(".") else None
        for part in path:
            group = getattr(group, part, None)
        default = {field.name: field.default for field in fields(group)} if is_dataclass(group) else {}
        if default.get(name, MISSING) is MISSING:
            return ABSENT
        return to_json(replace(group, **{name: default[name]}))[name]

    @property
    def _is_ever_stale(self) -> bool:
        return any(isinstance(stage, RLStage) and stage.settings.staleness > 0 for stage in self.plan.stages)

    def _objection_to_steps(self, change: Change) -> str | None:
        """Reinforcement at a constant rate is the same, step by step, however many steps follow."""
        stage = self._stage_of(change)
        if stage is None or not isinstance(change.after, int):
            return "the steps so far depend on how many there are"
        if stage.settings.decay != "constant":
            return f"decay={stage.settings.decay} spreads the learning rate over all steps"
        if stage.settings.staleness:
            return f"staleness={stage.settings.staleness} samples the last batches ahead for as many steps as there are"
        reached, stages = self.reached(), [one.name for one in self.plan.stages]
        if reached is None or reached.stage not in stages:
            return None
        if stages.index(reached.stage) > stages.index(stage.name):
            return f"the run has gone on from {stage.name} to {reached.stage}"
        if reached.stage == stage.name and reached.step > change.after:
            return f"the run has already taken {reached.step} steps"
        return None

    def _stage_of(self, change: Change) -> RLStage | None:
        """The stage whose settings hold the changed key: their group has the values of the stage's own."""
        group: Json = {_RECIPE_PREFIX.rstrip("."): to_json(self.plan.settings)}
        for name in change.key.split(".")[:-1]:
            group = group.get(name) if isinstance(group, Mapping) else None
        for stage in self.plan.stages:
            if isinstance(stage, RLStage) and to_json(stage.settings) == group:
                return stage
        return None

    def _change_text(self, change: Change) -> str:
        if change.key != _SOURCE_KEY or self.source is None or self.sources is None:
            return _line(change)
        lines = self.source.difference(self.sources, str(change.before)).replace("\n", "\n    ")
        return f"the recipe {self.source.name} was edited:\n    {lines}"


def _key(change: Change) -> str:
    """As the user writes it: settings of the recipe without the word in front."""
    if change.key == _SOURCE_KEY:
        return RECIPE_KEY
    return re.sub(rf"^{re.escape(_RECIPE_PREFIX)}", "", change.key)


def _is_below(key: str, accepted: str) -> bool:
    return accepted == ACCEPT_ALL or key == accepted or key.startswith(f"{accepted}.")


def _line(change: Change) -> str:
    return f"{_key(change)}: {change.before} -> {change.after}"
