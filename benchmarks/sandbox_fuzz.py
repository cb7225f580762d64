"""Random Python against the sandbox: many sessions at once, an oracle that knows what each must still hold.

    python benchmarks/sandbox_fuzz.py [--minutes 10] [--seed 0] [--sessions 12] [--workers 4] [--isolation full]
                                      [--json studies/sandbox/fuzz.json]

Programs come from a grammar (loops, files, arrays, pictures, threads, exceptions, system calls with random numbers and
arguments), from the hostile collection of the sandbox's tests, and from mutations of both. After each program the
oracle asks the session for its variables and files: a run that failed must have changed nothing, a run that ended well
must not have touched the oracle's own. Sessions are closed and opened at random. Ends with status 1 when a session was
lost, a state changed, or anything was left behind.
"""

import argparse
import collections
import json
import math
import os
import random
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from saccade.errors import MachineError
from saccade.sandbox import Isolation, Limits, Sandbox, Session

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/sandbox/tests"))

from hostile.attacks import BOMBS, CORRUPTION, ESCAPES
from hostile.programs import Programs

LIMITS = Limits(memory_mib=512, files_mib=8, file_count=300, threads=16, cpu_s=1.0, output_chars=2000, image_mib=16)
_TIMEOUT_S = 0.5
_ORACLE = """
oracle = {oracle!r}
with open("oracle.txt", "w") as file:
    _ = file.write(oracle)
"""
_ASK = """
import os as _os
_top = _os.path.dirname(_os.environ["HOME"])
_found = []
for _folder, _, _names in sorted(_os.walk(_top)):
    for _path in [_folder, *(_os.path.join(_folder, _n) for _n in sorted(_names))]:
        _stat = _os.lstat(_path)
        _content = b""
        if _stat.st_mode & 0o170000 == 0o100000:
            with open(_path, "rb") as _file:
                _content = _file.read(1 << 16)
        _found.append((_os.path.relpath(_path, _top), _stat.st_mode, _stat.st_size * bool(_content), hash(_content)))
with open(_top + "/work/oracle.txt") as _file:
    _text = _file.read()
print(oracle, _text, steps, hash(str(_found)))
"""
_SIMPLE = "print(oracle)"


@dataclass(kw_only=True, slots=True)
class Tally:
    """What happened, over all sessions."""

    ends: collections.Counter[str] = field(default_factory=collections.Counter)
    broken: list[str] = field(default_factory=list)
    sessions: int = 0
    lost: int = 0
    taken_back: int = 0
    """Runs that ended well and left an interpreter that could not go on; the sandbox said so and went back."""
    ended: int = 0
    """Sessions that ended, and said why: a run that failed had taken away a file that they held open."""
    spoilt: int = 0
    """Sessions whose namespace or modules a run that ended well left of no use to the oracle, as its code asked."""


class Fuzz:
    """Sessions under attack, each with an oracle."""

    def __init__(self, sandbox: Sandbox, seed: int, *, until: float, most: float = math.inf) -> None:
        """``until`` is a time of the monotonic clock, and after ``most`` programs none begins."""
        self._sandbox, self._seed, self._until, self._most = sandbox, seed, until, most
        hostile = [attack.code for attack in (*ESCAPES, *BOMBS, *CORRUPTION)]
        self._hostile = hostile
        self._lock = threading.Lock()
        self.tally = Tally()

    @property
    def _is_over(self) -> bool:
        return time.monotonic() > self._until or self.tally.ends.total() >= self._most

    def play(self, number: int) -> None:
        """One session after another, until the time is up or enough programs have run."""
        life = 0
        while not self._is_over:
            programs = Programs(random.Random(f"{self._seed}-{number}-{life}"), self._hostile)
            try:
                with self._sandbox.session(seed=life) as session:
                    self._count(sessions=1)
                    self._live(session, f"oracle-{number}-{life}", programs)
            except MachineError as error:
                self._count(lost=1)
                self._note(f"session {number}-{life}: {error}\n{programs.last}")
            life += 1

    def _live(self, session: Session, oracle: str, programs: Programs) -> None:
        session.run(f"{_ORACLE.format(oracle=oracle)}\nsteps = 0\n")
        known = session.run(_ASK).stdout
        for step in range(programs.random.randrange(5, 40)):
            if self._is_over:
                return
            code = programs.draw()
            result = session.run(code, timeout_s=_TIMEOUT_S)
            with self._lock:
                self.tally.ends["ok" if result.error is None else result.error.kind] += 1
            if result.error is not None:
                if not self._compare(session, oracle, known, code):
                    return
                continue
            # What it changed is its own affair, but the session answers, and goes back when a run fails.
            asked = session.run(f"steps = {step + 1}\n{_ORACLE.format(oracle=oracle)}\n{_ASK}", timeout_s=20.0)
            if asked.error is not None and "taken back" in asked.error.message:
                # It left an interpreter that could not go on, and must be as if it had never been.
                self._count(taken_back=1)
                self._compare(session, oracle, known, code)
                continue
            if asked.error is not None:
                plain = session.run(_SIMPLE, timeout_s=20.0)
                if plain.error is not None and "cannot run code any more" in plain.error.message:
                    self._note(f"{oracle}: lost after\n{code}\n{asked.error} {asked.stderr[-500:]}\n{plain.error}")
                    self._count(lost=1)
                self._count(spoilt=1)
                return
            known = session.run(_ASK, timeout_s=20.0).stdout

    def _compare(self, session: Session, oracle: str, known: str, code: str) -> bool:
        heard = session.run(_ASK, timeout_s=20.0)
        if heard.error is not None and heard.error.message.startswith("this session has ended"):
            self._count(ended=1)
        elif heard.stdout != known:
            now = f"{heard.stdout!r} {heard.error} {heard.stderr[-300:]}"
            self._note(f"{oracle}: {known!r} became {now} after\n{code}")
        return heard.stdout == known

    def _count(self, **by: int) -> None:
        with self._lock:
            for name, count in by.items():
                setattr(self.tally, name, getattr(self.tally, name) + count)

    def _note(self, what: str) -> None:
        with self._lock:
            self.tally.broken.append(what)
            print("BROKEN", what, flush=True)


def descendants() -> int:
    """Processes below this one."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text(errors="replace").rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return len(found) - 1


def fuzz(
    seconds: float, *, seed: int, sessions: int, workers: int, isolation: Isolation, most: float = math.inf
) -> dict[str, object]:
    """Everything that was counted, in so many seconds or programs; ``clean`` says whether all of it held."""
    before = tempfile.tempdir
    # Other sandboxes of this machine have their folders elsewhere.
    with tempfile.TemporaryDirectory(prefix="fuzz-") as tempfile.tempdir:
        try:
            return _fuzz(seconds, seed, sessions, workers, isolation, most, Path(tempfile.tempdir))
        finally:
            tempfile.tempdir = before


def _fuzz(
    seconds: float, seed: int, sessions: int, workers: int, isolation: Isolation, most: float, folder: Path
) -> dict[str, object]:
    descriptors, processes = len(list(Path("/proc/self/fd").iterdir())), descendants()
    with Sandbox(isolation=isolation, limits=LIMITS, concurrent_runs=workers) as sandbox:
        sandbox.session().close()
        time.sleep(0.5)
        warm = descendants()
        running = Fuzz(sandbox, seed, until=time.monotonic() + seconds, most=most)
        with ThreadPoolExecutor(sessions) as pool:
            list(pool.map(running.play, range(sessions)))
        deadline = time.monotonic() + 60
        while descendants() != warm and time.monotonic() < deadline:
            time.sleep(0.1)
        orphans = descendants() - warm
    time.sleep(0.2)
    tally = running.tally
    counted: dict[str, object] = {
        "seconds": round(seconds),
        "seed": seed,
        "isolation": isolation,
        "sessions": tally.sessions,
        "runs": sum(tally.ends.values()),
        **dict(sorted(tally.ends.items())),
        "sessions spoilt by code that ended well": tally.spoilt,
        "sessions ended for files held open": tally.ended,
        "runs taken back": tally.taken_back,
        "lost sessions": tally.lost,
        "states broken": len(tally.broken),
        "orphans": orphans,
        "processes left": descendants() - processes,
        "descriptor growth": len(list(Path("/proc/self/fd").iterdir())) - descriptors,
        "folders left": len(list(folder.iterdir())),
    }
    must_be_zero = ("lost sessions", "states broken", "orphans", "processes left", "descriptor growth", "folders left")
    counted["clean"] = all(counted[name] == 0 for name in must_be_zero)
    return counted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sessions", type=int, default=12)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--isolation", choices=("full", "restricted"), default="full")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    counted = fuzz(
        60 * chosen.minutes,
        seed=chosen.seed,
        sessions=chosen.sessions,
        workers=chosen.workers,
        isolation=chosen.isolation,
    )
    for name, count in counted.items():
        print(f"{name:42} {count}")
    if chosen.json:
        chosen.json.write_text(json.dumps(counted, indent=1) + "\n")
    return 0 if counted["clean"] else 1


if __name__ == "__main__":
    sys.exit(main())
