"""Where learners meet: who can reach it, and what a stranger who does can make them do."""

import os
import pickle
import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

import psutil
import pytest
from torch._C._distributed_c10d import PrefixStore, TCPStore

from saccade.errors import MachineError
from saccade.learner.meeting import _of_this_start, is_loopback
from saccade.learner.processes import Company, LostRanksError, PeerError
from saccade.testing.ranks import in_ranks
from saccade.train.fleet_weights import WeightsSender


def listening() -> set[str]:
    """Addresses at which this process waits for others."""
    return {one.laddr[0] for one in psutil.Process().net_connections("tcp") if one.status == psutil.CONN_LISTEN}


def addresses(company: Company) -> set[str]:
    assert company.count == 2
    return listening()


def test_ranks_of_one_machine_listen_at_the_loopback_address_alone() -> None:
    assert in_ranks(2, addresses) == [{"127.0.0.1"}, {"127.0.0.1"}]


def test_weights_are_sent_from_where_the_fleet_meets() -> None:
    before = listening()
    sender = WeightsSender(host="127.0.0.2", join_s=5.0, send_s=5.0)
    assert listening() - before == {"127.0.0.2"}
    assert sender._store.port > 0


def test_a_name_that_others_may_know_by_another_address_is_no_loopback() -> None:
    names = ("localhost", "127.0.0.1", "127.9.9.9", "::1")
    assert all(is_loopback(name) for name in names)
    assert not any(is_loopback(name) for name in ("", "0.0.0.0", "10.0.0.1", "localhost.example", "vm"))


def test_a_start_after_a_restart_meets_no_process_of_before() -> None:
    """torchrun's store outlives its processes, of which one died here before the others came."""
    kept = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=20))

    def meets(rank: int) -> bytes:
        own = TCPStore("127.0.0.1", kept.port, is_master=False, timeout=timedelta(seconds=20))
        part = _of_this_start(own, rank, 3, timedelta(seconds=20))
        if rank == 0:
            part.set("address", secrets.token_hex(4))
        return bytes(part.get("address"))

    def of_a_start() -> set[bytes]:
        with ThreadPoolExecutor(3) as threads:
            return set(threads.map(meets, range(3)))

    first = of_a_start()
    kept.set("here/2", "a process that died")
    second = of_a_start()
    assert (len(first), len(second), first & second) == (1, 1, set())
    with pytest.raises(MachineError, match="1 of 2 processes have come within 0 s"):
        _of_this_start(kept, 0, 2, timedelta(seconds=0.2))


def fails_after(kept: str, company: Company) -> None:
    """An ordinary failure, where somebody else has written to the store."""
    store = TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), is_master=False, timeout=timedelta(seconds=20))
    PrefixStore("saccade", store).set("failure", kept)
    raise RuntimeError(f"an ordinary failure of {company.count}")


class Runs:
    """What a pickle of it does where it is loaded."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (self.command,)


def test_nothing_that_somebody_writes_to_the_store_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    [failure] = in_ranks(1, partial(fails_after, pickle.dumps(Runs(f"touch {mark}")).hex()))
    assert not mark.exists()
    assert isinstance(failure, PeerError)
    assert str(failure) == "another rank: it has failed, and what it said of it cannot be read"


@pytest.mark.parametrize(
    "kept",
    ["[" * 100_000, "null", '{"rank": 0}', '[0, "user"]', '[[], "user", "x"]', "[1.5, 2, 3]", "x" * 100_000],
    ids=["deep", "null", "object", "short", "list", "numbers", "long"],
)
def test_words_that_no_rank_writes_are_taken_for_none(kept: str) -> None:
    [failure] = in_ranks(1, partial(fails_after, kept))
    assert str(failure) == "another rank: it has failed, and what it said of it cannot be read"


def test_words_about_a_failure_are_short_and_move_no_cursor() -> None:
    [failure] = in_ranks(1, partial(fails_after, '[3, "", "' + "\\u001b[2J\\u0007 gone\\n" + "x" * 50_000 + '"]'))
    assert str(failure).startswith("rank 3:  [2J  gone\nxxx")
    assert len(str(failure)) == len("rank 3: ") + 20_000


def breaks(words: str, company: Company) -> None:
    if company.rank == 1:
        raise ValueError(words)
    company.gather(1)


def test_what_a_rank_says_of_its_failure_reaches_the_others_as_it_was_said() -> None:
    words = 'of "Zürich" \\ 漢\n' + "é" * 15_000
    first, second = in_ranks(2, partial(breaks, words))
    assert str(first) == f"rank 1: ValueError: {words}"
    assert isinstance(second, ValueError)
    assert not isinstance(second, LostRanksError)
