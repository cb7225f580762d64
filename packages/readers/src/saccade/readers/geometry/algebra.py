"""Algebra with sympy in a process of its own, where each request runs in a child with little time and memory.

The process is ``python -m saccade.readers.geometry.algebra``: requests come as lines of JSON on the standard input,
replies go as lines to the standard output. Requests hold texts that are read by our parser; sympy never parses any.
"""

import atexit
import json
import os
import resource
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from saccade.errors import MachineError, ToolError
from saccade.readers.geometry.language import parse_equations
from saccade.readers.geometry.symbolic import sympy
from saccade.readers.geometry.terms import Call, LanguageError, Name, Node, Number, Operation, walk
from saccade.readers.geometry.vocabulary import FUNCTIONS
from saccade.types import Json

CPU_S = 4
WALL_S = 12.0
MEMORY_BYTES = 1 << 30
MAX_NODES = 400
MAX_EXPONENT = 20
MAX_CHARS = 2000
MAX_SOLUTIONS = 12


class TooMuchError(Exception):
    """Raised for a request that is understood and refused, mostly for its size."""


def main() -> None:
    """Serves requests until the standard input ends."""
    for line in sys.stdin:
        sys.stdout.write(_in_a_child(line).decode() + "\n")
        sys.stdout.flush()


def reply_to(task: str, text: str, unknowns: list[str]) -> dict[str, object]:
    """The reply to a request: ``text`` for people and ``values``, or ``error``."""
    nodes = parse_equations(text)
    if sum(1 for node in nodes for _ in walk(node)) > MAX_NODES:
        raise TooMuchError(f"the expressions have more than {MAX_NODES} terms")
    if task == "solve":
        return _solution([_gap(node) for node in nodes], unknowns)
    forms = [_task_result(task, to_expression(node)) for node in nodes]
    return {"text": "\n".join(forms), "values": forms}


def to_expression(node: Node) -> sympy.Expr:
    """The term in sympy's algebra; angles are in degrees. Powers are bounded by ``MAX_EXPONENT``."""
    match node:
        case Number(value):
            return sympy.Rational(value.numerator, value.denominator)
        case Name("pi"):
            return sympy.pi
        case Name(text):
            return sympy.Symbol(text, real=True)
        case Operation(sign, args):
            return _operation(sign, [to_expression(arg) for arg in args])
        case Call(name, (inner,)) if FUNCTIONS.get(name, name) in _WORDS:
            return _WORDS[FUNCTIONS.get(name, name)](to_expression(inner))
        case Call("Equals"):
            raise TooMuchError("an equation where an expression is needed; use the task solve")
        case _:
            raise TooMuchError(f"{node.name[:40]} is no function of algebra; there are sqrt, sin, cos, tan and cot")


def _operation(sign: str, args: list[sympy.Expr]) -> sympy.Expr:
    match sign:
        case "+":
            return sympy.Add(*args)
        case "*":
            return sympy.Mul(*args)
        case "-":
            return -args[0]
        case "/":
            if args[1] == 0:
                raise TooMuchError("a division by zero")
            return args[0] / args[1]
    if args[1].is_number and abs(args[1]) > MAX_EXPONENT:
        raise TooMuchError(f"an exponent above {MAX_EXPONENT}")
    return args[0] ** args[1]


_DEGREE = sympy.pi / 180
_WORDS = {
    "SqrtOf": sympy.sqrt,
    "SinOf": lambda a: sympy.sin(a * _DEGREE),
    "CosOf": lambda a: sympy.cos(a * _DEGREE),
    "TanOf": lambda a: sympy.tan(a * _DEGREE),
    "CotOf": lambda a: sympy.cot(a * _DEGREE),
}


def _gap(node: Node) -> sympy.Expr:
    if isinstance(node, Call) and node.name == "Equals":
        return to_expression(node.args[0]) - to_expression(node.args[1])
    return to_expression(node)


def _solution(gaps: list[sympy.Expr], unknowns: list[str]) -> dict[str, object]:
    symbols = sorted({symbol for gap in gaps for symbol in gap.free_symbols}, key=str)
    wanted = [sympy.Symbol(name, real=True) for name in unknowns] or symbols
    found = sympy.solve(gaps, wanted, dict=True)
    rows = [{str(key): _form(value) for key, value in solution.items()} for solution in found[:MAX_SOLUTIONS]]
    if not rows:
        is_always = all(sympy.simplify(gap) == 0 for gap in gaps)
        return {"text": "true for all values" if is_always else "no real solution was found", "values": []}
    lines = [", ".join(f"{key} = {value}" for key, value in sorted(row.items())) for row in rows]
    more = f"\n({len(found) - MAX_SOLUTIONS} more solutions)" if len(found) > MAX_SOLUTIONS else ""
    return {"text": "\n".join(lines) + more, "values": rows}


def _task_result(task: str, expression: sympy.Expr) -> str:
    tasks = {"simplify": sympy.simplify, "expand": sympy.expand, "factor": sympy.factor}
    return _form(tasks[task](expression) if task in tasks else expression)


def _form(value: sympy.Expr) -> str:
    """The value as text that our parser reads again, with a decimal where it is a number that is not whole."""
    text = _text_of(value)
    if value.is_number and not value.is_Integer:
        decimal = value.evalf(15)
        if decimal.is_real and not decimal.has(sympy.nan, sympy.zoo, sympy.oo):
            return f"{text} ≈ {float(decimal):.6g}"
    return text


def _text_of(value: sympy.Expr) -> str:
    text = str(value).replace("**", "^")
    if len(text) > MAX_CHARS:
        raise TooMuchError(f"the result has {len(text)} characters")
    return text


def _in_a_child(line: str) -> bytes:
    """The reply to one request; a child that needs too much is killed by the kernel, which leaves the reply empty."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _limit_resources()
        os.write(writing, json.dumps(_reply(line)).encode()[: 1 << 16])
        os._exit(0)
    os.close(writing)
    reply = b""
    while select.select([reading], [], [], WALL_S)[0]:
        piece = os.read(reading, 1 << 16)
        if not piece:
            break
        reply += piece
    os.close(reading)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return reply or json.dumps({"error": f"this needs more than {CPU_S} s or too much memory; simplify it"}).encode()


def _limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _reply(line: str) -> Mapping[str, object]:
    try:
        request = json.loads(line)
        return reply_to(request["task"], request["text"], request["unknowns"])
    except (TooMuchError, LanguageError) as error:
        return {"error": str(error)}
    except (NotImplementedError, RecursionError, MemoryError, ArithmeticError, ValueError, TypeError, AttributeError):
        # Sympy raises these where it cannot go on; which one tells a model nothing.
        return {"error": "no way to do this was found; make it simpler"}


AlgebraTask = Literal["solve", "simplify", "expand", "factor", "evaluate"]
MAX_EQUATIONS = 8
_START_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class AlgebraResult:
    """Solutions or forms, as text and as data."""

    text: str
    values: Json


class _Worker:
    """The process, started at the first request; one request at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, line: bytes) -> bytes:
        """The reply to a line; ``MachineError`` when the process is lost twice."""
        with self._lock:
            for _ in range(2):
                with suppress(OSError):
                    reply = self._exchange(line)
                    if reply.endswith(b"\n"):
                        return reply
                self._stop()
        raise MachineError("the algebra process does not answer")

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._stop()

    def _exchange(self, line: bytes) -> bytes:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        reply = b""
        while not reply.endswith(b"\n"):
            if not select.select([process.stdout], [], [], WALL_S + _START_S)[0]:
                return b""
            piece = os.read(process.stdout.fileno(), 1 << 16)
            if not piece:
                return b""
            reply += piece
        return reply

    def _running(self) -> subprocess.Popen[bytes]:
        # A process that was forked from the owner must not share its pipes.
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            if self._owner == os.getpid():
                self._stop()
            self._owner = os.getpid()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "saccade.readers.geometry.algebra"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process

    def _stop(self) -> None:
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            with suppress(OSError):
                self._process.communicate()
        self._process = None


_WORKER = _Worker()
atexit.register(_WORKER.close)


def do_algebra(task: AlgebraTask, text: str, unknowns: tuple[str, ...] = ()) -> AlgebraResult:
    """The solutions or forms of equations or expressions; ``ToolError`` with a sentence for the model on failure."""
    nodes = parse_equations(text, "equations")
    if not 1 <= len(nodes) <= MAX_EQUATIONS:
        raise ToolError(f"equations holds {len(nodes)} equations, but it must hold 1 to {MAX_EQUATIONS}, one on a line")
    request = {"task": task, "text": text, "unknowns": list(unknowns)}
    reply: dict[str, Json] = json.loads(_WORKER.ask(json.dumps(request).encode() + b"\n"))
    if "error" in reply:
        raise ToolError(f"equations: {reply['error']}")
    return AlgebraResult(text=str(reply["text"]), values=reply["values"])


if __name__ == "__main__":
    main()
