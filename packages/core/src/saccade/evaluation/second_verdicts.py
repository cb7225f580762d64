"""A second verdict on open answers by the library math-verify: reported beside our own, and never rewarded.

Symbolic comparison of what a model wrote may take any time and memory, so it happens in a process of its own that is
bounded in both and killed when it is late. What fails there is no verdict, which is counted and is not wrong.
"""

import json
import selectors
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from saccade.errors import MachineError, missing_extra
from saccade.evaluation.samples import StoredSample

MAX_CHARS = 512
"""Longer answers are no verdict: they are no answers in mathematics."""
MEMORY_BYTES = 4 * 2**30
START_S = 120.0
TOO_LONG, LATE, ENDED = "it is too long", "it took too long", "its process ended"


class MathVerify:
    """math-verify while it is entered, in a process that is started again whenever it had to be killed."""

    def __init__(self, *, timeout_s: float = 10.0, memory_bytes: int = MEMORY_BYTES) -> None:
        self._timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """UserError where the library is not installed."""
        if self._start_process() == "missing":
            self._end()
            raise missing_extra("evals", "math-verify", needed_for="a second verdict on answers in mathematics")
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __call__(self, gold: str, answer: str) -> bool | str:
        """Whether the answer is right; words where there is no verdict."""
        if len(gold) > MAX_CHARS or len(answer) > MAX_CHARS:
            return TOO_LONG
        if self._process is None:
            self._start_process()
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps([gold, answer]).encode() + b"\n")
            process.stdin.flush()
            found = self._line(self._timeout_s)
        except OSError:
            found = ENDED
        if found in (LATE, ENDED):
            self._end()
        return found

    def _start_process(self) -> bool | str:
        command = [sys.executable, str(Path(__file__).with_name("math_verify_process.py")), str(self._memory_bytes)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        found = self._line(START_S)
        if found in (LATE, ENDED):
            self._end()
            raise MachineError(f"the process of math-verify did not start: {found}")
        return found

    def _line(self, timeout_s: float) -> bool | str:
        """The next line; the process writes a line at once, so that one that has begun soon ends."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout_s):
                return LATE
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            return ENDED
        found = json.loads(line)
        assert isinstance(found, bool | str)
        return found

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SecondVerdicts:
    """Verdicts of math-verify on the open answers of an evaluation, beside ours."""

    name: str
    samples: int
    """Samples without options that have our verdict."""
    right: int
    """Of those with a verdict."""
    ours: int
    """Right by us, of those with a verdict."""
    agreed: int
    no_verdict: Mapping[str, int] = field(default_factory=dict)
    """Samples without a verdict, by why."""

    @property
    def verdicts(self) -> int:
        return self.samples - sum(self.no_verdict.values())

    def describe(self) -> str:
        """``math-verify 61.5 %, ours 60.8 %, agreed on 98.5 % of 130 open answers; no verdict on 2: ...``."""
        if not self.samples:
            return f"{self.name}: math-verify: every question has options, so there is nothing to verify"
        n = max(1, self.verdicts)
        text = (
            f"{self.name}: math-verify {self.right / n:.1%}, ours {self.ours / n:.1%}, agreed on "
            f"{self.agreed / n:.1%} of {self.verdicts:,} open answers"
        )
        why = ", ".join(f"{reason} {count:,}" for reason, count in self.no_verdict.items())
        return f"{text}; no verdict on {self.samples - self.verdicts:,}: {why}" if why else text


def second_verdicts(name: str, samples: Iterable[StoredSample], verify: MathVerify) -> SecondVerdicts:
    """Ask math-verify about each answer to a question without options; an unanswered one is wrong for both."""
    open_ones = [one for one in samples if one.right is not None and not one.choices]
    no_verdict: Counter[str] = Counter()
    right = ours = agreed = 0
    for one in open_ones:
        found = verify(one.gold, one.answer) if one.answer else False
        if isinstance(found, str):
            no_verdict[found] += 1
            continue
        right += found
        ours += bool(one.right)
        agreed += found == one.right
    return SecondVerdicts(
        name=name,
        samples=len(open_ones),
        right=right,
        ours=ours,
        agreed=agreed,
        no_verdict=dict(no_verdict.most_common()),
    )
