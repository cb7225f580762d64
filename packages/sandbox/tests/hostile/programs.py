# ruff: noqa: E501  The parts of programs are data.
"""Random programs: from a grammar, from hostile code, and by breaking both."""

import random
from collections.abc import Sequence

_FORBIDDEN = (60, 231, 15, 13, 14)
"""Ending and signal frames: random arguments to these say nothing about the sandbox."""


class Programs:
    """Draws programs; the same generator gives the same ones."""

    def __init__(self, generator: random.Random, hostile: Sequence[str]) -> None:
        self.random = generator
        self.last = ""
        self._hostile = hostile

    def draw(self) -> str:
        """A program, sound or broken."""
        kind = self.random.random()
        if kind < 0.15:
            code = self.random.choice(self._hostile)
        elif kind < 0.3:
            code = self._mutated(self.random.choice(self._hostile))
        elif kind < 0.4:
            code = self._mutated(self._block(0))
        else:
            code = self._block(0)
        self.last = f"import ctypes, os, sys, time, threading, random, socket, errno\n{code}"
        return self.last

    def _block(self, depth: int) -> str:
        return "\n".join(self._statement(depth) for _ in range(self.random.randrange(1, 5)))

    def _statement(self, depth: int) -> str:
        simple = (
            self._assignment,
            self._file,
            self._array,
            self._picture,
            self._thread,
            self._failure,
            self._call_of_os,
            self._system_call,
            self._plot,
            self._state,
            self._output,
            self._changes_a_module,
        )
        if depth < 3 and self.random.random() < 0.3:
            return self._compound(depth)
        return self.random.choice(simple)()

    def _compound(self, depth: int) -> str:
        inner = _indented(self._block(depth + 1))
        shapes = (
            f"for _i in range({self.random.choice((0, 1, 3, 50))}):\n{inner}",
            f"try:\n{inner}\nexcept {self.random.choice(('Exception', 'BaseException', 'OSError', 'ValueError'))}:\n    pass",
            f"def f{self._number(5)}():\n{inner}\nf{self._number(5)}()",
            f"if {self._value()}:\n{inner}\nelse:\n    pass",
            f"class A{self._number(3)}:\n{inner}",
            f"with open('w{self._number(9)}', 'a') as _f:\n{inner}",
            f"while random.random() < 0.7:\n{inner}",
        )
        return self.random.choice(shapes)

    def _assignment(self) -> str:
        return f"v{self._number(9)} = {self._value()}"

    def _value(self) -> str:
        return self.random.choice(
            (
                str(self.random.choice((0, -1, 2**31, 2**64, self._number(1000)))),
                repr("x" * self._number(200)),
                f"v{self._number(9)}",
                f"[{self._number(9)}] * {self.random.choice((3, 1000, 10**6, 10**9))}",
                "list(map(str, range(100)))",
                "{i: i * i for i in range(50)}",
                "(lambda a: a + 1)(3)",
                "sum(range(10000))",
                "oracle",
                "open('oracle.txt').read()",
                "2 ** 5000",
                "b'z' * (1 << 20)",
            )
        )

    def _file(self) -> str:
        name = self._name()
        other = self._name()
        return self.random.choice(
            (
                f"open({name}, 'w').write('t' * {self.random.choice((1, 1000, 10**6, 10**7))})",
                f"os.remove({name})",
                f"os.rename({name}, {other})",
                f"os.makedirs({name} + '/sub', exist_ok=True)",
                f"os.link({name}, {other})",
                f"os.symlink({name}, {other})",
                f"os.chmod({name}, {self.random.choice((0, 0o777, 0o400, 0o1755))})",
                f"os.truncate({name}, {self._number(5000)})",
                f"import shutil; shutil.rmtree({name})",
                f"h{self._number(4)} = open({name}, {self.random.choice(('r', 'w', 'a+', 'rb', 'x'))!r})",
                f"h{self._number(4)}.write('held'); h{self._number(4)}.flush()",
                f"os.chdir({name})",
                "os.chdir(os.environ['HOME'])",
                "os.utime('oracle.txt', (1, 1))",
                f"import mmap; m = mmap.mmap(os.open({name}, os.O_RDWR), 0); m[0:1] = b'M'",
            )
        )

    def _name(self) -> str:
        names = (
            "'a'",
            "'b'",
            "'dir'",
            "'dir/sub'",
            "'dir/file'",
            "'oracle.txt'",
            "'e.png'",
            "os.environ['TMPDIR'] + '/t'",
        )
        strange = ("'..'", "'/'", "'/etc/passwd'", "'x' * 250", "'\\U0001F600' * 60", "'\\n'", "'a' + '/a' * 50", "'.'")
        return self.random.choice(names if self.random.random() < 0.85 else strange)

    def _array(self) -> str:
        return "import numpy as np, cv2\n" + self.random.choice(
            (
                f"np.ones(({self.random.choice((3, 1000, 10**5))}, {self.random.choice((3, 100, 10**5))}))",
                "a = np.random.rand(200, 200); (a @ a).sum()",
                "cv2.Canny(np.zeros((300, 300), np.uint8), 10, 20)",
                "np.frombuffer(b'123', dtype=np.float64)",
                "np.seterr(all='raise'); np.float32(1) / np.float32(0)",
                "np.lib.stride_tricks.as_strided(np.zeros(4), (10**4, 10**4), (8, 8)).sum()",
                "cv2.imdecode(np.frombuffer(random.randbytes(200), np.uint8), 1)",
                "np.zeros((64, 64, 3), np.uint8)",
            )
        )

    def _picture(self) -> str:
        return "from PIL import Image\n" + self.random.choice(
            (
                f"Image.new('RGB', ({self._number(2000)}, {self._number(2000)})).show()",
                "Image.new('L', (50, 50)).save('e.png')",
                "open('e.png', 'wb').write(b'\\x89PNG' + random.randbytes(100))",
                "Image.open('e.png').load()",
                "Image.new('RGBA', (30, 30)).rotate(45).resize((4000, 400))",
                "display(Image.new('F', (20, 20)))",
            )
        )

    def _thread(self) -> str:
        body = self.random.choice(
            ("time.sleep(9)", "sum(range(10**6))", "open('t', 'w').close()", "[0 for _ in iter(int, 1)]", "print(1)")
        )
        return (
            f"for _ in range({self.random.choice((1, 2, 5, 40))}):\n"
            f"    threading.Thread(target=lambda: {body}, daemon={self.random.random() < 0.7}).start()"
        )

    def _failure(self) -> str:
        return self.random.choice(
            (
                "1 / 0",
                "raise KeyboardInterrupt",
                "sys.exit(3)",
                "os._exit(1)",
                "os.abort()",
                "ctypes.string_at(8)",
                "undefined",
                "(",
                "raise ValueError('x' * 100000)",
                "def r(): r()\nr()",
                "while True: pass",
                "time.sleep(100)",
                "assert False",
                "input()",
            )
        )

    def _call_of_os(self) -> str:
        functions = [
            "fork",
            "close",
            "dup",
            "dup2",
            "pipe",
            "getpid",
            "kill",
            "setsid",
            "nice",
            "umask",
            "urandom",
            "sync",
            "uname",
            "wait",
            "chroot",
            "mkfifo",
            "mknod",
            "ftruncate",
            "lseek",
        ]
        arguments = ", ".join(str(self._argument()) for _ in range(self.random.randrange(3)))
        return f"os.{self.random.choice(functions)}({arguments})"

    def _system_call(self) -> str:
        number = self.random.randrange(470)
        while number in _FORBIDDEN:
            number = self.random.randrange(470)
        arguments = ", ".join(f"ctypes.c_long({self._argument()})" for _ in range(6))
        times = self.random.choice((1, 1, 5))
        return f"for _ in range({times}): ctypes.CDLL(None, use_errno=True).syscall({number}, {arguments})"

    def _argument(self) -> str:
        return self.random.choice(
            ("0", "1", "-1", "2", "3", "9", "100", "101", "103", "105", str(1 << 31), str((1 << 63) - 1), "os.getpid()", "os.getppid()",
             "id(oracle)", str(self._number(4096)), "0x01200011", "17", "-100")
        )  # fmt: skip

    def _plot(self) -> str:
        return "import matplotlib.pyplot as plt\n" + self.random.choice(
            (
                "plt.plot([1, 2, 3])",
                "plt.figure(figsize=(2, 2)); plt.show()",
                "plt.imshow([[1, 2], [3, 4]]); plt.savefig('e.png')",
                "plt.close('all')",
            )
        )

    def _state(self) -> str:
        return self.random.choice(
            (
                "import signal; signal.signal(signal.SIGALRM, lambda *_: 1 / 0)",
                "import signal; signal.setitimer(signal.ITIMER_REAL, 0.05)",
                "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [10, 12, 14])",
                "sys.setrecursionlimit(200)",
                "sys.settrace(lambda *a: None)",
                "import gc; gc.set_threshold(1); gc.collect()",
                "import warnings; warnings.simplefilter('error')",
                "import atexit; atexit.register(print, 'bye')",
                "r, w = socket.socketpair(); r.send(b'x' * 1000)",
                "import asyncio; asyncio.run(asyncio.sleep(0.001))",
                "globals().clear()",
                "del oracle",
                "oracle = 'changed'",
                "sys.stdout.close()",
                "generator = (i for i in range(10)); next(generator)",
            )
        )

    def _output(self) -> str:
        return self.random.choice(
            (
                "print('p' * 100000)",
                "print(v1)",
                "sys.stderr.write('e' * 10)",
                "os.write(1, random.randbytes(50))",
                "print('\\ud800')",
            )
        )

    def _changes_a_module(self) -> str:
        module = self.random.choice(("json", "random", "time", "tempfile", "io", "re", "traceback"))
        return f"import {module}; setattr({module}, random.choice(dir({module})), None)"

    def _mutated(self, code: str) -> str:
        """A program with a few characters or lines moved, doubled, changed or lost."""
        lines = code.split("\n")
        for _ in range(self.random.randrange(1, 4)):
            at = self.random.randrange(len(lines))
            change = self.random.randrange(5)
            if change == 0:
                del lines[at]
            elif change == 1:
                lines.insert(at, lines[self.random.randrange(len(lines))])
            elif change == 2:
                other = self.random.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            elif lines[at]:
                where = self.random.randrange(len(lines[at]))
                new = self.random.choice(("", "0", "-1", " ", ")", "(", "None", "\t", "\u00e9", "9" * 20, "\x00"))
                lines[at] = lines[at][:where] + new + lines[at][where + 1 :]
            if not lines:
                return "pass"
        return "\n".join(lines)

    def _number(self, most: int) -> int:
        return self.random.randrange(most)


def _indented(code: str) -> str:
    return "\n".join("    " + line for line in code.split("\n"))
