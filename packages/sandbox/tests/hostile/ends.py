# ruff: noqa: E501  The code of the attacks is data.
"""Ways for a run to end, or to fail."""

from hostile.attack import Attack

ENDS = (
    Attack(name="leaves by sys.exit", code="kept.clear(); import sys; sys.exit(3)", ends="exit"),
    Attack(name="leaves by os._exit", code="kept.clear(); os._exit(0)", ends="exit"),
    Attack(name="leaves by the C library", code="kept.clear(); libc.exit(0)", ends="exit"),
    Attack(name="aborts", code="kept.clear(); os.abort()", ends="killed"),
    Attack(name="reads from address zero", code="kept.clear(); ctypes.string_at(0)", ends="killed"),
    Attack(name="jumps to address one", code="kept.clear(); ctypes.CFUNCTYPE(None)(1)()", ends="killed"),
    Attack(
        name="writes over the interpreter",
        code="kept.clear(); ctypes.memset(id(int), 0, 400); int('3') + 1",
        ends="killed|exception|exit|timeout",
        timeout_s=1.0,
    ),
    Attack(
        name="overflows the stack in C",
        code="import sys\nsys.setrecursionlimit(10**8)\nclass A:\n    def __getattr__(self, name): return getattr(self, name + 'x')\nA().x",
        ends="killed|memory",
    ),
    Attack(name="recurses without end", code="kept.clear()\ndef f(): f()\nf()", ends="exception"),
    Attack(name="nests too deeply for the parser", code="eval('(' * 100000)", ends="exception|memory|killed"),
    Attack(name="nests too deeply for the compiler", code="eval('-' * 100000 + '1')", ends="exception|memory|killed"),
    Attack(name="parses deep JSON", code="import json; json.loads('[' * 10**6)", ends="exception"),
    Attack(name="raises KeyboardInterrupt", code="kept.clear(); raise KeyboardInterrupt", ends="exception"),
    Attack(name="raises GeneratorExit", code="kept.clear(); raise GeneratorExit", ends="exception"),
    Attack(name="raises BaseException", code="kept.clear(); raise BaseException('x')", ends="exception"),
    Attack(
        name="raises an exception that raises when printed",
        code="kept.clear()\nclass E(Exception):\n    def __str__(self): raise SystemExit(0)\n    __repr__ = __str__\nraise E",
        ends="exception",
    ),
    Attack(
        name="raises an exception whose class has no name",
        code="class M(type):\n    __name__ = property(lambda c: 1 / 0)\n    __qualname__ = __module__ = __name__\nclass E(Exception, metaclass=M): pass\nkept.clear()\nraise E",
        ends="exception|exit",
    ),
    Attack(
        name="raises an exception whose class is not what it says",
        code="class E(Exception):\n    __class__ = property(lambda s: SystemExit)\n    args = property(lambda s: 1 / 0)\n    __traceback__ = property(lambda s: 1 / 0)\nkept.clear()\nraise E",
        ends="exception|exit",
    ),
    Attack(
        name="raises with a giant name and message",
        code="kept.clear(); raise type('E' * 3_000_000, (Exception,), {})('m' * 3_000_000)",
        ends="exception|exit",
    ),
    Attack(
        name="raises a long chain of causes",
        code="kept.clear()\ne = None\nfor n in range(2000):\n    new = ValueError('x' * 1000); new.__cause__ = e; e = new\nraise e",
        ends="exception",
    ),
    Attack(
        name="raises a loop of causes",
        code="kept.clear()\na, b = ValueError(1), ValueError(2)\na.__cause__ = b; b.__cause__ = a\nraise a",
        ends="exception",
    ),
    Attack(
        name="raises a giant group",
        code="kept.clear()\nraise ExceptionGroup('g', [ValueError('x' * 100)] * 20000)",
        ends="exception",
    ),
    Attack(
        name="raises when shown",
        code="class A:\n    def __repr__(self): raise KeyboardInterrupt\nkept.clear()\nA()",
        ends="exception",
    ),
    Attack(
        name="shows something that is no text",
        code="class A:\n    def __repr__(self): return 3\nkept.clear()\nA()",
        ends="exception",
    ),
    Attack(name="shows surrogates", code="'\\udc80' + chr(0x10FFFF)"),
    Attack(
        name="is ended by its own alarm",
        code="import signal, time; kept.clear(); signal.alarm(1); time.sleep(3)",
        ends="killed",
    ),
    Attack(
        name="is ended by its own interval timer",
        code="import signal, time; kept.clear(); signal.setitimer(signal.ITIMER_REAL, 0.05); time.sleep(3)",
        ends="killed",
    ),
    Attack(
        name="has faulthandler end it",
        code="import faulthandler, time; kept.clear(); faulthandler.dump_traceback_later(0.05, exit=True); time.sleep(3)",
        ends="exit",
    ),
    Attack(name="is not Python", code="}}}} \x00 )) def", ends="exception"),
    Attack(name="is half a program", code="kept.clear()\nfor i in range(3):\n    print(", ends="exception"),
    Attack(name="declares another encoding", code="# coding: utf-7\nprint('a')", ends="ok|exception"),
    Attack(name="awaits at the top", code="import asyncio\nawait asyncio.sleep(0)", ends="exception"),
    Attack(name="returns at the top", code="kept.clear(); return 3", ends="exception"),
)
