"""Processes of the sandbox killed in the middle of hostile runs: who goes with them, and that nothing stays."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile.host import descendants, eventually, settled
from hostile.judge import LIMITS
from saccade.errors import MachineError
from saccade.sandbox import Isolation, RunResult, Sandbox

BUSY = """
import threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
open("half.txt", "w").write("half")
kept = "spoilt"
time.sleep(99)
"""


def mounts() -> list[str]:
    return Path("/proc/self/mounts").read_text().splitlines()


def folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("saccade-sandbox-*"))


def threads_of(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/task").iterdir()))
    except OSError:
        return 0


@pytest.fixture(scope="module", autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Other sandboxes of this machine leave their folders elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("sandboxes")))
        yield


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])


@pytest.fixture(scope="module", params=["full", "restricted"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox whose processes are killed by one test after the other; it goes on with new ones."""
    isolation: Isolation = request.param
    before = folders(), mounts()
    with Sandbox(isolation=isolation, limits=LIMITS, concurrent_runs=4) as sandbox:
        yield sandbox
    assert (folders(), mounts()) == before


class Chain:
    """A session in the middle of a run, and its processes."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.session = sandbox.session()
        assert self.session.run("kept = 'kept'; open('kept.txt', 'w').write('kept')").ok
        self.answers: list[RunResult | MachineError] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        # Only the child that runs the code has four threads.
        assert eventually(lambda: any(threads_of(pid) == 4 for pid in descendants()))
        self.child = next(pid for pid in descendants() if threads_of(pid) == 4)
        self.state = parent_of(self.child)
        self.keeper = parent_of(self.state)
        self.warm_parent = parent_of(self.keeper)
        self.processes = (self.child, self.state, self.keeper)

    def _run(self) -> None:
        try:
            self.answers.append(self.session.run(BUSY, timeout_s=60.0))
        except MachineError as error:
            self.answers.append(error)

    def answer(self) -> RunResult | MachineError:
        self._thread.join(120.0)
        assert not self._thread.is_alive()
        return self.answers[0]


def test_a_killed_child_fails_its_run_only(sandbox: Sandbox) -> None:
    with sandbox.session() as other:
        assert other.run("mine = 1").ok
        chain = Chain(sandbox)
        os.kill(chain.child, signal.SIGKILL)
        answer = chain.answer()
        assert isinstance(answer, RunResult)
        assert answer.error is not None
        assert answer.error.kind in ("memory", "killed")
        told = chain.session.run("import os; print(kept, open('kept.txt').read(), sorted(os.listdir()))")
        assert told.stdout == "kept kept ['kept.txt']\n"
        assert other.run("mine").stdout == "1\n"
        chain.session.close()


@pytest.mark.parametrize("victim", ["state", "keeper"])
def test_a_killed_state_or_keeper_costs_its_session_only(sandbox: Sandbox, victim: str) -> None:
    with sandbox.session() as other:
        assert other.run("mine = 1").ok
        chain = Chain(sandbox)
        os.kill(getattr(chain, victim), signal.SIGKILL)
        assert other.run("mine").stdout == "1\n"
        with sandbox.session() as new:
            assert new.run("6 * 7").stdout == "42\n"
        if victim == "state":
            # With namespaces nobody misses the state before the run is over.
            chain.session.close()
        answer = chain.answer()
        assert isinstance(answer, MachineError) or (answer.error is not None and answer.error.kind == "killed")
        chain.session.close()
        assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in chain.processes))


def test_a_killed_warm_parent_ends_hostile_runs(sandbox: Sandbox) -> None:
    chain = Chain(sandbox)
    os.kill(chain.warm_parent, signal.SIGKILL)
    assert isinstance(chain.answer(), MachineError)
    gone = (*chain.processes, chain.warm_parent)
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in gone))
    with sandbox.session() as new:
        assert new.run("6 * 7").stdout == "42\n"
    chain.session.close()


def test_stopped_processes_end_with_their_session(sandbox: Sandbox) -> None:
    chain = Chain(sandbox)
    for pid in (chain.child, chain.state):
        os.kill(pid, signal.SIGSTOP)
    chain.session.close()
    assert isinstance(chain.answer(), MachineError)
    assert eventually(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in (chain.child, chain.state, chain.keeper))
    )


TRAINER = """
    import sys, threading, time
    from saccade.sandbox import Sandbox
    from hostile.attacks import BOMBS
    sandbox = Sandbox(isolation=sys.argv[1], concurrent_runs=20)
    sandbox.start()
    chosen = [attack for attack in BOMBS if "timeout" in attack.ends or "limit" in attack.ends][:12]
    for attack in chosen:
        session = sandbox.session()
        threading.Thread(target=session.run, args=(attack.code,), kwargs={"timeout_s": 60}, daemon=True).start()
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("isolation", ["full", "restricted"])
def test_a_trainer_killed_while_bombs_go_off_leaves_nothing(isolation: Isolation) -> None:
    before = folders(), mounts()
    command = [sys.executable, "-c", textwrap.dedent(TRAINER), isolation]
    surroundings = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings) as trainer:
        assert trainer.stdout is not None
        assert trainer.stdout.readline() == "ready\n"
        time.sleep(0.3)
        started = descendants(trainer.pid)
        assert len(started) > 12
        trainer.kill()
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))
    assert eventually(lambda: (folders(), mounts()) == before)


def test_sessions_opened_and_closed_under_attack_leave_no_descriptor_and_no_process(sandbox: Sandbox) -> None:
    sandbox.session().close()
    processes, descriptors = len(settled(descendants)), len(list(Path("/proc/self/fd").iterdir()))
    codes = (
        "import os; os._exit(1)",
        "import os; os.closerange(0, 256)",
        "1",
        "x = [0] * 10**6; os",
        "import ctypes; ctypes.string_at(0)",
    )
    for number in range(25):
        with sandbox.session() as session:
            session.run(codes[number % len(codes)])
    assert eventually(lambda: len(descendants()) == processes)
    assert eventually(lambda: len(list(Path("/proc/self/fd").iterdir())) == descriptors)
