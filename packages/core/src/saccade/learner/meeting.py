"""Where processes meet: a store that listens at one address alone, and the network that their groups use."""

import ipaddress
import logging
import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from torch._C._distributed_c10d import PrefixStore, Store, TCPStore
from torch.distributed.rendezvous import rendezvous

from saccade.errors import MachineError

_INTERFACE = "GLOO_SOCKET_IFNAME"

logger = logging.getLogger(__name__)


def listening_store(host: str, port: int, timeout: timedelta, *, members: int | None = None) -> TCPStore:
    """A store that others reach at ``host`` and nowhere else, once so many have come; port 0 chooses one.

    torch's own would listen at every address of the machine, without a password.
    """
    members_come = members is not None
    try:
        listener = _listener(host, port)
    except OSError as error:
        logger.warning("%s: %s; the store listens at all addresses of this machine", host, error)
        return TCPStore(host, port, members, True, timeout, members_come)
    return TCPStore(
        host,
        listener.getsockname()[1],
        members,
        is_master=True,
        timeout=timeout,
        wait_for_workers=members_come,
        multi_tenant=True,
        master_listen_fd=listener.detach(),
    )


def _listener(host: str, port: int) -> socket.socket:
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    # Debian gives a machine's own name 127.0.1.1, which is nothing to the others.
    if is_loopback(str(address[0])) and not is_loopback(host):
        raise OSError(f"is {address[0]} here, and may be another address elsewhere")
    return socket.create_server((address[0], address[1]), family=family)


def meet(timeout: timedelta) -> tuple[Store, int, int]:
    """The store of the processes that a launcher started together, this one's rank, and how many there are.

    As torch's ``env://``, but that the first of them listens at MASTER_ADDR alone. torchrun's processes meet in the
    store of torchrun itself.
    """
    try:
        rank, count, port = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"))
        host, has_store = os.environ["MASTER_ADDR"], os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    except (KeyError, ValueError):
        rank, has_store = 0, True
    if has_store or rank > 0:
        # It also says what is missing.
        store, rank, count = next(rendezvous("env://", timeout=timeout))
        return _of_this_start(store, rank, count, timeout) if has_store else store, rank, count
    return listening_store(host, port, timeout, members=count), rank, count


def _of_this_start(store: Store, rank: int, count: int, timeout: timedelta) -> Store:
    """A part of torchrun's store that the processes of this start alone use: torchrun keeps one store over restarts.

    What processes of before have written there would be taken for addresses of these. The first rank names the part,
    and answers each newcomer under a word that the newcomer has made up, until all have it.
    """
    own = secrets.token_hex(16)
    if rank:
        store.set(f"here/{rank}", own)
        part = store.get(f"part/{own}").decode()
        store.add(f"came/{part}", 1)
        return PrefixStore(part, store)
    until_s = time.monotonic() + timeout.total_seconds()
    while (came := 1 + store.add(f"came/{own}", 0)) < count:
        for other in range(1, count):
            if store.check([f"here/{other}"]):
                store.set(f"part/{store.get(f'here/{other}').decode()}", own)
        if time.monotonic() > until_s:
            raise MachineError(f"{came} of {count} processes have come within {timeout.total_seconds():.0f} s")
        time.sleep(0.05)
    return PrefixStore(own, store)


def is_loopback(host: str) -> bool:
    """Whether only processes of this machine reach it, wherever it is looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def on_this_machine(host: str) -> Iterator[None]:
    """Inside, groups by gloo listen at the loopback address alone where ``host`` is one; a choice of the user's stays.

    gloo would take the address that the machine's own name has, which others may reach.
    """
    names = [name for _, name in socket.if_nameindex() if name in ("lo", "lo0")]
    if _INTERFACE in os.environ or not names or not is_loopback(host):
        yield
        return
    os.environ[_INTERFACE] = names[0]
    try:
        yield
    finally:
        del os.environ[_INTERFACE]
