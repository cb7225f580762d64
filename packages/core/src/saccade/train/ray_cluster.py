"""A Ray cluster joined or started for a run, and room in it."""

import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from saccade.config.fleet import FleetSettings
from saccade.errors import MachineError, UserError, missing_extra

try:
    import ray
    from ray.util.placement_group import PlacementGroup, placement_group
except ImportError as error:
    raise missing_extra("cluster", "ray", needed_for="a run with rollout workers (fleet.rollouts)") from error

CLUSTER_TRIES = 3
"""How often a local cluster is started: on a busy machine its processes miss time limits that cannot be set."""
TOKEN = (
    ". If the cluster asks for a token, as `ray start` says when it does, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN "
    "where ~/.ray/auth_token is not the cluster's"
)
"""What may keep a run from a cluster that is there: Ray uses a token by itself only where it finds the cluster."""

_ENVIRONMENT = {
    # Ray's processes would run at nice 15, below whatever else runs here.
    "RAY_worker_niceness": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Without GPUs of their own, actors see what the machine has: an engine on a GPU may be shared.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
logger = logging.getLogger(__name__)


@contextmanager
def cluster(fleet: FleetSettings) -> Iterator[None]:
    """Joins the cluster, or starts one on this machine; leaves it in any case, which ends all actors of this run."""
    os.environ |= {name: os.environ.get(name, value) for name, value in _ENVIRONMENT.items()}
    address = "local" if fleet.is_local else fleet.address
    check_reachable(address)
    for left in reversed(range(CLUSTER_TRIES if fleet.is_local else 1)):
        try:
            # Without the address Ray joins whatever cluster this machine remembers.
            ray.init(address=address, include_dashboard=False if fleet.is_local else None, logging_level="warning")
            break
        except Exception as error:  # Ray raises whatever went wrong in one of its processes.
            ray.shutdown()
            if not left:
                raise MachineError(
                    f"Ray could not be reached or started at fleet.address={address} ({ray_words(error)})"
                    f"{'' if fleet.is_local else TOKEN}"
                ) from error
            logger.warning("Ray did not start (%s); trying again", type(error).__name__)
    try:
        yield
    finally:
        ray.shutdown()


def reserve(
    fleet: FleetSettings, asked: Mapping[str, float], count: int, strategy: str, role: str
) -> PlacementGroup | None:
    """Resources for so many processes of a role; None where they ask for none. MachineError when they are not there."""
    if not asked or not count:
        return None
    group = placement_group([dict(asked)] * count, strategy=strategy)
    if not group.wait(timeout_seconds=fleet.resources_timeout_s):
        there, free = resources_told(ray.cluster_resources()), resources_told(ray.available_resources())
        raise MachineError(
            f"the cluster has no room for fleet.{role}s={count} processes with {resources_told(asked)} each, and had "
            f"none for {fleet.resources_timeout_s:.0f} s (fleet.resources_timeout_s): it has {there}, of which {free} "
            f"are free. Lower fleet.{role}s, fleet.{role}_cpus or fleet.{role}_gpus, or add machines"
        )
    return group


def ray_words(error: BaseException) -> str:
    """Ray's words for what became of a process, in one line."""
    words: Sequence[str] = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {words[0] if words else 'no reason given'}"


CONNECT_S = 10.0


def check_reachable(address: str) -> None:
    """UserError for a HOST:PORT where nobody listens; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_S).close()
    except (OSError, ValueError) as error:
        raise UserError(
            f"fleet.address={address}: no Ray cluster answers there ({error}); give the address that `ray start` has "
            "printed, or auto on one of its machines"
        ) from error


def asked_of(cpus: float, gpus: float) -> dict[str, float]:
    """The resources of one process by Ray's names; empty where it asks for none."""
    return {name: amount for name, amount in (("CPU", cpus), ("GPU", gpus)) if amount}


def resources_told(resources: Mapping[str, float]) -> str:
    """CPUs and GPUs as a sentence has them."""
    return " and ".join(f"{resources.get(name, 0.0):g} {name}s" for name in ("CPU", "GPU"))
