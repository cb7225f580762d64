"""What is asked of a cluster, and what it says, in words; without Ray."""

import socket
from collections.abc import Mapping

from saccade.errors import UserError

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
