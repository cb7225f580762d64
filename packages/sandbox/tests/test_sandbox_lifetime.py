"""What is left when sessions, sandboxes and processes end, in whatever way: nothing."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostile.host import descendants, eventually
from saccade.errors import MachineError, UserError
from saccade.sandbox import Isolation, NoIsolationWarning, Sandbox, Session

ISOLATIONS: tuple[Isolation, ...] = ("full", "restricted", "none")


# A sandbox that several tests share warns again where it starts its warm parent anew.
pytestmark = pytest.mark.filterwarnings("ignore::saccade.sandbox.sandbox.NoIsolationWarning")


def parents() -> dict[int, int]:
    """Every process and its parent."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(entry.parent.name)] = int(entry.read_text(errors="replace").rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def gone(pids: set[int]) -> Callable[[], bool]:
    return lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids)


@contextmanager
def started_sandbox(isolation: Isolation) -> Iterator[Sandbox]:
    sandbox = Sandbox(isolation=isolation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoIsolationWarning)
        sandbox.start()
        with sandbox:
            yield sandbox


@pytest.fixture(params=ISOLATIONS)
def fresh(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox of its own for a test that closes it."""
    with started_sandbox(request.param) as sandbox:
        yield sandbox


@pytest.fixture(scope="module", params=ISOLATIONS)
def attacked(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox whose processes are killed by one test after the other; it goes on with new ones."""
    with started_sandbox(request.param) as sandbox:
        yield sandbox


def test_closing_leaves_no_process_and_no_folder(fresh: Sandbox) -> None:
    before = descendants(os.getpid())
    sessions = [fresh.session() for _ in range(3)]
    for session in sessions[:2]:
        session.run("import threading, time; threading.Thread(target=time.sleep, args=(99,)).start()")
    sessions[0].close()
    sessions[0].close()
    started = descendants(os.getpid())
    assert len(started) > len(before)
    fresh.close()
    fresh.close()
    mine = {pid for pid in started if not Path(f"/proc/{pid}").exists()}
    assert len(mine) >= 8
    with pytest.raises(MachineError):
        sessions[1].run("1")
    with pytest.raises(UserError, match="this sandbox is closed"):
        fresh.session()


SCRIPT = """
    import sys, time, warnings
    warnings.simplefilter('ignore')
    from saccade.sandbox import Sandbox
    sandbox = Sandbox(isolation=sys.argv[1])
    sessions = [sandbox.session() for _ in range(3)]
    for session in sessions:
        assert session.run('x = 1').ok
    import threading
    threading.Thread(target=sessions[0].run, args=('while True: pass',), daemon=True).start()
    print(sandbox._parent.folder, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_killed_trainer_leaves_nothing(isolation: Isolation) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), isolation]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as trainer:
        assert trainer.stdout is not None
        folder = trainer.stdout.readline().strip()
        assert Path(folder).exists()
        assert bool(folder) == (isolation != "full")
        started = descendants(trainer.pid)
        assert len(started) >= 11
        trainer.kill()
    assert eventually(gone(started))
    assert not folder or eventually(lambda: not Path(folder).exists())


@pytest.mark.parametrize(
    ("attacked", "which"),
    [*((isolation, "watcher") for isolation in ISOLATIONS), ("full", "warm parent")],
    indirect=["attacked"],
)
def test_a_killed_warm_parent_takes_its_sessions_along_and_the_next_session_starts_another(
    attacked: Sandbox, which: str
) -> None:
    session = attacked.session()
    assert session.run("x = 1").ok
    started = family(attacked)
    watcher = watcher_of(attacked)
    killed = watcher if which == "watcher" else next(pid for pid, parent in parents().items() if parent == watcher)
    os.kill(killed, signal.SIGKILL)
    assert eventually(lambda: all(not Path(f"/proc/{pid}").exists() for pid in started - {watcher}))
    with pytest.raises(MachineError):
        session.run("x")
    with attacked.session() as another:
        assert another.run("'x' in globals()").stdout == "False\n"
    assert eventually(gone(started))


def family(sandbox: Sandbox) -> set[int]:
    """The processes of one sandbox among those of this test."""
    watcher = watcher_of(sandbox)
    return descendants(watcher) | {watcher}


def watcher_of(sandbox: Sandbox) -> int:
    assert sandbox._parent is not None
    return sandbox._parent.process_id


def test_a_killed_keeper_costs_its_session_only(attacked: Sandbox) -> None:
    lost, other = attacked.session(), attacked.session()
    assert other.run("x = 1").ok
    before = family(attacked)
    extra = attacked.session()
    keeper_side = family(attacked) - before
    assert keeper_side
    signal.pidfd_send_signal(lost._pidfd, signal.SIGKILL)
    with pytest.raises(MachineError, match="ended"):
        lost.run("1")
    assert other.run("x").stdout == "1\n"
    extra.close()
    other.close()
    lost.close()
    # What stays: the watcher, the warm parent, and spare sessions of two processes each.
    assert eventually(lambda: len(family(attacked)) <= 6)


def test_sessions_that_come_and_go_leave_no_descriptor_and_no_process(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        session.run("1")

    def open_count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    descriptors, processes = open_count(), len(family(sandbox))
    for _ in range(40):
        with sandbox.session() as session:
            assert session.run("1").ok
    assert open_count() <= descriptors
    assert eventually(lambda: len(family(sandbox)) <= processes)


def test_a_session_closed_in_the_middle_of_a_run_ends_it(sandbox: Sandbox) -> None:
    session = sandbox.session()
    ended: list[BaseException] = []

    def run() -> None:
        try:
            session.run("while True: pass", timeout_s=120)
        except MachineError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.3)
    session.close()
    thread.join(60)
    assert [str(error) for error in ended] == ["the sandbox session was closed; its state is lost"]


def test_many_threads_run_their_own_sessions_at_once(sandbox: Sandbox) -> None:
    def play(number: int) -> list[str]:
        with sandbox.session(seed=number) as session:
            session.run(f"value = {number}")
            session.run("value = None; 1/0")
            return [session.run("value * 2").stdout, session.run("value + 1").stdout]

    with ThreadPoolExecutor(12) as threads:
        told = list(threads.map(play, range(24)))
    assert told == [[f"{2 * number}\n", f"{number + 1}\n"] for number in range(24)]


def test_sessions_can_be_awaited() -> None:
    async def play(sandbox: Sandbox, number: int) -> str:
        async with sandbox.open_session(seed=number) as session:
            await session.run_async(f"x = {number}")
            return (await session.run_async("x")).stdout

    async def main() -> list[str]:
        async with Sandbox() as sandbox:
            return await asyncio.gather(*(play(sandbox, number) for number in range(8)))

    assert asyncio.run(main()) == [f"{number}\n" for number in range(8)]


def test_a_cancelled_run_ends_with_its_session(sandbox: Sandbox) -> None:
    async def main() -> bool:
        async with sandbox.open_session() as session:
            # It would take an hour: what is not cancelled hangs here.
            run = asyncio.create_task(session.run_async("while True: pass", timeout_s=3600))
            await asyncio.sleep(0.3)
            run.cancel()
            await asyncio.wait([run])
            return run.cancelled()

    assert asyncio.run(main())

    def is_alive(session: Session) -> bool:
        return session.run("1").ok

    with sandbox.session() as session:
        assert is_alive(session)
