"""The processes that a run is spread over: a matter of the machine, not of the recipe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from saccade.codec.bounds import Bounds, NotNegative, Positive, check_bounds
from saccade.config.settings import apply_overrides

_PREFIX = "fleet."
COLLECTIVE = "collective"
"""The ``weights`` of a fleet whose learner sends them to the workers' processes."""
_DAY_S = 86_400


@dataclass(frozen=True, kw_only=True)
class FleetSettings:
    """Processes of a run; ``--set fleet.learners=2`` changes one."""

    learners: Positive = 1
    """Processes that hold the learner's weights in shards; Ray starts them, or ``torch.distributed.run``."""
    wrap: Literal["layers", "whole"] = "layers"
    """What is gathered at a time: a layer of the language model, or all weights."""
    timeout_s: Annotated[float, Bounds(above=0, most=_DAY_S)] = 600.0
    """How long the learners wait for each other in the middle of a step before the run ends."""
    rollouts: Annotated[int, Bounds(least=0)] = 0
    """Rollout workers, which Ray starts: each plays whole groups with an engine, environments and tools of its own. 0:
    the first learner plays."""
    address: str = ""
    """Ray cluster: ``auto`` or ``HOST:PORT`` is a running one, ``local`` one that lives as long as the run. Empty:
    local with rollout workers, and no Ray without them."""
    learner_cpus: NotNegative = 0.0
    """CPUs that a learner asks Ray for; 0 asks for none, for machines with fewer cores than processes."""
    learner_gpus: NotNegative = 0.0
    rollout_cpus: NotNegative = 0.0
    """CPUs that a rollout worker asks Ray for."""
    rollout_gpus: NotNegative = 0.0
    """GPUs that a rollout worker asks Ray for; 0 if the engine is a server (``engine.kind=vllm``), or on CPUs."""
    weights: str = ""
    """Folder for the weights that rollout workers read, with room for them twice; all machines must see it. Empty: in
    ``/dev/shm`` for a local cluster, below ``--out`` for another one. ``collective``: no files, the first learner sends
    them, by NCCL from GPU to GPU and by gloo elsewhere."""
    restarts: Annotated[int, Bounds(least=0)] = 8
    """How many lost workers of each kind are replaced before the run ends."""
    start_timeout_s: Annotated[float, Bounds(above=0, most=_DAY_S)] = 600.0
    """How long a process may take to start."""
    resources_timeout_s: Annotated[float, Bounds(above=0, most=_DAY_S)] = 60.0
    """How long to wait for resources that the cluster does not have at present."""
    play_timeout_s: Annotated[float, Bounds(above=0, most=_DAY_S)] = 3_600.0
    """How long a rollout worker may take for its share of a batch before it counts as lost."""

    @property
    def has_ray(self) -> bool:
        """Whether Ray starts the processes."""
        return self.rollouts > 0 or bool(self.address)

    @property
    def is_local(self) -> bool:
        """Whether Ray lives on this machine alone, as long as the run."""
        return self.address in ("", "local")

    def check(self) -> None:
        check_bounds(self)


@dataclass(frozen=True, kw_only=True)
class _WithFleet:
    fleet: FleetSettings = FleetSettings()


def split_overrides(overrides: Sequence[str]) -> tuple[FleetSettings, tuple[str, ...]]:
    """The settings of the fleet, and the overrides that are the recipe's; raises UserError as ``apply_overrides``."""
    own = [one for one in overrides if one.strip().startswith(_PREFIX)]
    return apply_overrides(_WithFleet(), own).fleet, tuple(one for one in overrides if one not in own)
