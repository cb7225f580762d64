"""Runs attacks and says what they broke: the session, its neighbour, the trainer or the machine."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hostile.attack import LOOK, NOTHING, PRELUDE, Attack
from hostile.host import BrokenError, Host, descendants, settled
from saccade.errors import MachineError
from saccade.sandbox import Isolation, Limits, RunResult, Sandbox, Session

LIMITS = Limits(memory_mib=512, files_mib=16, file_count=800, threads=24, cpu_s=1.0, output_chars=4000, image_mib=24)
CANARY = "CANARY-OF-TRAINER"
_SESSION_PROCESSES = 3
"""A keeper, a state, and the child that waits for code."""
_ALIVE_S = 60.0


class Judge:
    """One sandbox, one neighbour, and a host with things worth stealing."""

    def __init__(self, sandbox: Sandbox, isolation: Isolation, folder: Path) -> None:
        self._sandbox, self._isolation = sandbox, isolation
        self._host = Host(folder)
        self._neighbour = sandbox.session(seed=7)
        told = self._neighbour.run(
            "import os; open('own.txt', 'w').write('own'); mine = {'own': 1}; print(os.getcwd())"
        )
        place = "/no/neighbour" if isolation == "full" else told.stdout.splitlines()[-1]
        self._target = self._host.targets() | {"neighbour": place}
        self._check_neighbour()
        self._processes = len(settled(descendants))
        self._descriptors = _descriptors()

    def close(self) -> None:
        self._neighbour.close()
        self._host.close()

    def judge(self, attack: Attack) -> RunResult:
        """Makes the attack in a session of its own; BrokenError says what it broke."""
        with self._sandbox.session(seed=1) as session:
            result = self._attack(session, attack)
            _eventually(
                lambda: len(descendants()) <= self._processes + _SESSION_PROCESSES,
                lambda: f"{len(descendants())} processes, {self._processes} before the session",
            )
        self._check_neighbour()
        self._host.check()
        _eventually(
            lambda: len(descendants()) == self._processes,
            lambda: f"{len(descendants())} processes, {self._processes} before",
        )
        _eventually(
            lambda: _descriptors() == self._descriptors, lambda: f"{_descriptors()} open, {self._descriptors} before"
        )
        return result

    def _attack(self, session: Session, attack: Attack) -> RunResult:
        before = _good(session, f"target = {self._target!r}\n{PRELUDE}\n{attack.before}\n{LOOK}")
        result = session.run(attack.code, timeout_s=attack.timeout_s)
        _require(_ending(result) in attack.ends.split("|"), f"ended with {_ending(result)}", result)
        _require(attack.says in (None, result.stdout), f"said {result.stdout!r}", result)
        for line in result.stdout.splitlines():
            _require(not line.startswith("reached:") or line + "\n" == NOTHING, line, result)
        _check_bounds(result)
        if attack.ends_session:
            heard = session.run("None")
            _require(_has_ended(heard), "the session goes on", heard)
            return result
        if not result.ok:
            _check(_good(session, LOOK), before)
        elif _is_taken_back(session.run("None")):
            # The attack left an interpreter that could not go on: as if it had never been.
            _check(_good(session, LOOK), before)
            return result
        for code, says in attack.then:
            heard = _good(session, code)
            _require(says in (None, heard), f"{code!r} said {heard!r}, not {says!r}", result)
        if attack.hoards:
            with ExitStack() as others:
                # More than are kept ready.
                for _ in range(4):
                    another = others.enter_context(self._sandbox.session())
                    _good(another, "import threading; t = threading.Thread(target=print); t.start(); t.join()")
        if not attack.spoils:
            self._check_session(session, before)
        return result

    def _check_session(self, session: Session, before: str) -> None:
        """The session has its variables and files, and goes back to them when a run fails."""
        planned = session.run("kept.clear(); open('new.txt', 'w').write('new'); raise LookupError('planned')")
        _require(planned.error is not None and planned.error.name == "LookupError", "a failing run", planned)
        after = _good(session, LOOK)
        _check(after.splitlines()[0], before.splitlines()[0])
        lost = set(before.splitlines()) - set(after.splitlines())
        if lost or "new.txt" in after:
            raise BrokenError(f"files changed from\n{before}to\n{after}")

    def _check_neighbour(self) -> None:
        heard = _good(self._neighbour, "print(mine, open('own.txt').read(), sorted(os.listdir()))")
        _require(heard == "{'own': 1} own ['own.txt']\n", f"the neighbour says {heard!r}", None)


@contextmanager
def judging(isolation: Isolation) -> Iterator[Judge]:
    """A judge with a sandbox of its own and small limits."""
    os.environ["SACCADE_HOSTILE_SECRET"] = CANARY
    with (
        tempfile.TemporaryDirectory(prefix="hostile-", dir="/var/tmp") as folder,
        Sandbox(isolation=isolation, limits=LIMITS) as sandbox,
    ):
        judge = Judge(sandbox, isolation, Path(folder))
        try:
            yield judge
        finally:
            judge.close()
            os.environ.pop("SACCADE_HOSTILE_SECRET", None)


def promised(attacks: tuple[Attack, ...], isolation: Isolation) -> list[Attack]:
    """The attacks that this isolation must contain."""
    return [attack for attack in attacks if isolation == "full" or attack.where == "everywhere"]


def _good(session: Session, code: str) -> str:
    result = session.run(code, timeout_s=_ALIVE_S)
    _require(result.ok, f"a harmless run ended with {_ending(result)}: {code[:60]!r}", result)
    return result.stdout


def _is_taken_back(result: RunResult) -> bool:
    return result.error is not None and "taken back" in result.error.message


def _has_ended(result: RunResult) -> bool:
    return result.error is not None and result.error.message.startswith("this session has ended")


def _ending(result: RunResult) -> str:
    return "ok" if result.error is None else result.error.kind


def _check_bounds(result: RunResult) -> None:
    for text in (result.stdout, result.stderr):
        _require(len(text) <= LIMITS.output_chars + 80, f"{len(text)} characters of output", result)
    _require(len(result.images) <= LIMITS.images, f"{len(result.images)} images", result)
    sizes = [image.width * image.height for image in result.images]
    _require(all(size <= LIMITS.image_pixels for size in sizes), f"images of {sizes} pixels", result)
    _require(sum(sizes) * 3 <= LIMITS.image_mib << 20, f"images of {sizes} pixels", result)


def _check(now: str, before: str) -> None:
    if now != before:
        raise BrokenError(f"the state changed from\n{before}to\n{now}")


def _require(is_true: bool, what: str, result: RunResult | None) -> None:
    if not is_true:
        told = f"\nerror {result.error}\nstderr {result.stderr[-600:]}" if result is not None else ""
        raise BrokenError(what + told)


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _eventually(is_true: Callable[[], bool], what: Callable[[], str]) -> None:
    deadline = time.monotonic() + _ALIVE_S
    while not is_true():
        if time.monotonic() > deadline:
            raise BrokenError(what())
        time.sleep(0.02)


def main(isolation: Isolation, names: list[str]) -> int:
    """Judges all attacks, or some by name, and prints those that broke something: for tests as another user."""
    from hostile.attacks import BOMBS, CORRUPTION, ESCAPES

    broken = 0
    with judging(isolation) as judge:
        for attack in promised(ESCAPES + BOMBS + CORRUPTION, isolation):
            if names and attack.name not in names:
                continue
            began = time.monotonic()
            try:
                judge.judge(attack)
            except (BrokenError, MachineError) as error:
                broken += 1
                print(f"BROKEN {attack.name}: {type(error).__name__} {error}", flush=True)
            elapsed_s = time.monotonic() - began
            if elapsed_s > 1.0:
                print(f"slow {elapsed_s:.1f} s: {attack.name}", flush=True)
    print(f"{broken} broken")
    return broken


if __name__ == "__main__":
    chosen: dict[str, Isolation] = {"full": "full", "restricted": "restricted", "none": "none"}
    sys.exit(min(1, main(chosen[sys.argv[1]], sys.argv[2:])))
