"""One process of several that learn together: joining them, orders of the first, and the end of all when one fails."""

import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.distributed_c10d import PrefixStore, Store

from saccade.errors import MachineError, SaccadeError, UserError
from saccade.learner.meeting import meet, on_this_machine
from saccade.learner.ranks import ProcessRanks, error_words
from saccade.learner.sharding import Sharding, Wrap
from saccade.models.checkpoint_checks import first_line

IDLE_S = 86_400.0
"""How long the others wait for an order of the first rank, which may play a batch meanwhile."""
_FAILURE = "failure"
_USERS, _STOPPED = "user", "stopped"
_MAX_WORDS = 20_000
"""Characters of what a rank says of its failure; whoever reaches the store may have written more."""
_BROKEN = re.compile(r"gloo|NCCL|[Cc]onnection|[Tt]imed out|timeout")
"""What collectives say when a peer is gone."""


class PeerError(MachineError):
    """Another rank has failed, and says why."""


class PeerUserError(PeerError, UserError):
    """Another rank has found a mistake of the user's."""


class LostRanksError(MachineError):
    """A rank is gone, or gave no answer in time: nobody's mistake, so that the group may begin again."""


class Company(ProcessRanks):
    """The ranks of a process group, with the store that outlives its connections."""

    def __init__(self, store: Store, sharding: Sharding) -> None:
        super().__init__()
        self.sharding = sharding
        self._store = store
        # Of its own, since between two orders more time may pass than inside of one.
        self._orders = dist.new_group(backend="gloo", timeout=timedelta(seconds=IDLE_S))

    def order(self, what: object = None) -> object:
        """The order that the first rank gives; it alone says what."""
        box = [what]
        with self.sharing_failures():
            dist.broadcast_object_list(box, src=0, group=self._orders)
        return box[0]

    @contextmanager
    def sharing_failures(self) -> Iterator[None]:
        """Tells the others why this rank fails; where another failed first, raises ``PeerError`` with its words."""
        try:
            yield
        except PeerError:
            raise
        except BaseException as error:
            rank, kind, message = self._first_failure((self.rank, _kind(error), error_words(error)))
            if isinstance(error, SaccadeError) or (isinstance(error, KeyboardInterrupt) and kind == _STOPPED):
                raise
            # What a collective raises when a peer is gone says nothing; nor does the signal that a launcher sends then.
            if rank != self.rank:
                _finish_undisturbed()
                who = f"rank {rank}" if rank >= 0 else "another rank"
                raise (PeerUserError if kind == _USERS else PeerError)(f"{who}: {message}") from error
            if isinstance(error, RuntimeError) and _BROKEN.search(str(error)):
                _finish_undisturbed()
                why = first_line(error).partition(". ")[0]
                raise LostRanksError(
                    f"the learners lost one of their processes, or waited too long for it ({why}); continue with "
                    "--resume"
                ) from error
            raise

    def _first_failure(self, own: tuple[int, str, str]) -> tuple[int, str, str]:
        """What the first rank that failed has said, which is this one where none did."""
        try:
            # The store keeps the first value that is set over nothing, and gives what it keeps.
            kept = self._store.compare_set(_FAILURE, "", json.dumps([own[0], own[1], own[2][:_MAX_WORDS]]))
        except RuntimeError:
            return 0, "", "it has ended, and the store of the processes with it"
        return _failure_in(bytes(kept))


def _failure_in(kept: bytes) -> tuple[int, str, str]:
    """The rank, kind and words of a failure, as words alone: whoever reaches the store may have written them."""
    try:
        match json.loads(kept) if len(kept) <= 12 * _MAX_WORDS + 100 else None:
            case [int(rank), str(kind), str(message)]:
                words = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in message)
                return rank, kind, words[:_MAX_WORDS]
    except (ValueError, RecursionError):
        pass
    return -1, "", "it has failed, and what it said of it cannot be read"


def _finish_undisturbed() -> None:
    """Lets this rank write down what happened: a launcher ends all processes as soon as one has failed."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _kind(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return _STOPPED
    return _USERS if isinstance(error, UserError) else ""


@contextmanager
def join_company(*, wrap: Wrap, timeout_s: float, device: str) -> Iterator[Company]:
    """The processes that ``torch.distributed.run`` started together, on CPUs by gloo and on GPUs by NCCL.

    No wait is without an end: those inside a step have ``timeout_s``. When a rank fails, the first words about it are
    kept in the store, and its connections break off, which ends the others. What they send each other is trusted: store
    and groups listen at the loopback address alone where MASTER_ADDR is one.
    """
    is_gpu = device.startswith("cuda")
    if is_gpu:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    timeout = timedelta(seconds=timeout_s)
    store, rank, count = meet(timeout)
    with on_this_machine(os.environ.get("MASTER_ADDR", "")):
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if is_gpu else "gloo",
            store=PrefixStore("learners", store),
            rank=rank,
            world_size=count,
            timeout=timeout,
        )
        try:
            mesh = init_device_mesh("cuda" if is_gpu else "cpu", (count,))
            company = Company(PrefixStore("saccade", store), Sharding(mesh=mesh, wrap=wrap))
            with company.sharing_failures():
                yield company
        finally:
            dist.destroy_process_group()
