# ruff: noqa: E501  The code of the attacks is data.
"""Code that does not end."""

from hostile.attack import Attack

TIME = (
    Attack(name="loops for ever", code="while True: pass", ends="timeout", timeout_s=0.4),
    Attack(
        name="catches everything and goes on",
        code="while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(name="sleeps for ever", code="import time; time.sleep(1e6)", ends="timeout", timeout_s=0.4),
    Attack(
        name="matches a regular expression that explodes",
        code="import re; re.match(r'(a+)+$', 'a' * 60 + 'b')",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(
        name="blocks all signals and loops in C",
        code="import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); libc.poll(None, 0, -1)",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(
        name="ignores all signals",
        code="""
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
""",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(
        name="computes without looking up",
        code="import numpy as np; a = np.random.rand(1200, 1200); np.linalg.eig(a)",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(
        name="waits for a lock twice",
        code="import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(name="reads from an empty pipe", code="r, w = os.pipe(); os.read(r, 1)", ends="timeout", timeout_s=0.4),
    Attack(
        name="loops while it is shown",
        code="class A:\n    def __repr__(self):\n        while True: pass\nA()",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(
        name="loops while it is removed",
        code="class A:\n    def __del__(self):\n        while True: pass\nA(); None",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(
        name="loops in the collector",
        code="import gc\ngc.callbacks.append(lambda *_: [0 for _ in iter(int, 1)])\ngc.collect()",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(
        name="loops in its own traceback",
        code="class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E()",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(
        name="loops when output is flushed",
        code="import sys\nclass Out:\n    def write(self, text): pass\n    def flush(self):\n        while True: pass\nsys.stdout = Out()",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(
        name="loops in a trace function",
        code="import sys\ndef trace(*_):\n    while True: pass\nsys.settrace(trace)\n(lambda: 1)()",
        ends="timeout",
        timeout_s=0.4,
    ),
    Attack(name="uses more processor time than it may", code="while True: pass", ends="timeout", timeout_s=9.0),
)
