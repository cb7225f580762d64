# ruff: noqa: E501  The code of the attacks is data.
"""Changes to modules, hooks and settings that the next run meets."""

from hostile.attack import AGAIN, Attack

VARIABLES = (
    Attack(
        name="replaces every builtin",
        code="import builtins\nfor name in list(vars(builtins)):\n    if name not in ('__build_class__',): setattr(builtins, name, None)",
        ends="ok|exit",
        then=AGAIN,
    ),
    Attack(
        name="removes every builtin",
        code="import builtins\nfor name in list(vars(builtins)): delattr(builtins, name)",
        ends="ok|exception|exit",
        then=AGAIN,
    ),
    Attack(
        name="replaces print and exceptions",
        code="import builtins\nbuiltins.print = lambda *a: 1 / 0\nbuiltins.BaseException = builtins.Exception = int\nbuiltins.isinstance = lambda *a: True",
        ends="ok|exit",
        then=AGAIN,
    ),
    Attack(
        name="replaces the builtins of its namespace",
        code="__builtins__ = {}\n__name__ = None",
        ends="ok|exception",
        then=(("1", "1\n"),),
        spoils=True,
    ),
    Attack(
        name="replaces functions of os",
        code="import os\nfor name in ('read', 'write', 'fork', 'wait4', 'pread', 'lseek', 'fstat', 'chdir', 'getpid', 'getcwd', 'dup2', '_exit', 'scandir', 'close', 'open'): setattr(os, name, lambda *a, **k: 0)",
        ends="ok|exit|exception",
        then=AGAIN,
        spoils=True,
    ),
    Attack(name="replaces fork", code="import os\nos.fork = lambda: 0", ends="ok|exit|exception", then=AGAIN),
    Attack(
        name="replaces fork with an error",
        code="import os\nos.fork = None; os.wait4 = None",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="replaces os in sys.modules",
        code="import sys\nsys.modules['os'] = None; sys.modules['json'] = None; sys.modules['signal'] = None",
        ends="ok|exit|exception",
        then=AGAIN,
        spoils=True,
    ),
    Attack(
        name="empties sys.modules",
        code="import sys\nsys.modules.clear()",
        ends="ok|exit|exception",
        then=AGAIN,
        spoils=True,
    ),
    Attack(
        name="empties the modules that the sandbox uses",
        code="import sys\nfor name in ('os', 'json', 'signal', 'io', 'socket', 'linecache', 'ast', 'traceback', 'faulthandler', 'random', 'tempfile'):\n    vars(sys.modules[name]).clear()",
        ends="ok|exit|exception|killed",
        then=AGAIN,
        spoils=True,
    ),
    Attack(
        name="replaces json",
        code="import json\njson.dumps = json.loads = lambda *a, **k: {}",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="replaces random",
        code="import random\nrandom.getstate = random.setstate = None",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="replaces signal functions",
        code="import signal\nsignal.setitimer = signal.signal = signal.pause = None",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="replaces parts of io and sys",
        code="import io, sys\nio.TextIOWrapper = io.FileIO = io.BufferedWriter = None\nsys.__stdout__ = sys.__stderr__ = None\nsys.settrace = sys.setprofile = None",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="replaces traceback, ast, linecache",
        code="import ast, linecache, traceback\nast.parse = traceback.TracebackException = linecache.cache = None\nast.Expr = ast.Expression = int",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="replaces PIL and matplotlib",
        code="import PIL.Image, matplotlib.pyplot as plt, PIL.ImageShow\nPIL.Image.open = PIL.Image.Image = None\nplt.get_fignums = plt.close = lambda *a: 1 / 0\nPIL.ImageShow._viewers = None",
        ends="ok|exit|exception",
        then=AGAIN,
        spoils=True,
    ),
    Attack(
        name="removes modules of the sandbox",
        code="import sys\nfor name in [n for n in sys.modules if n.startswith('saccade')]:\n    vars(sys.modules[name]).clear()\n    del sys.modules[name]",
        ends="ok|exit|exception|killed",
        then=AGAIN,
    ),
    Attack(
        name="changes the sandbox's own objects",
        code="""
import gc
for thing in gc.get_objects():
    if type(thing).__module__.startswith("saccade"):
        for name in list(getattr(thing, "__dict__", ())):
            try: setattr(thing, name, None)
            except Exception: pass
""",
        ends="ok|exit|exception|killed|timeout",
        timeout_s=2.0,
    ),
    Attack(
        name="walks up the frames and changes them",
        code="""
import sys
frame = sys._getframe()
while frame:
    for name, value in list(frame.f_locals.items()):
        if type(value).__name__ == "State":
            value._folder, value._kept = "/nowhere", []
    frame = frame.f_back
""",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(name="replaces the main module", code="import sys\nsys.modules['__main__'] = None", then=AGAIN),
    Attack(
        name="sets a tiny recursion limit",
        code="""
import sys
for limit in range(5, 60):
    try:
        sys.setrecursionlimit(limit)
        break
    except RecursionError:
        pass
""",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="sets a trace, a profile and hooks",
        code="""
import sys, threading
def fail(*_): raise ValueError("hook")
threading.settrace(fail); threading.setprofile(fail)
sys.excepthook = sys.unraisablehook = sys.displayhook = threading.excepthook = fail
sys.breakpointhook = fail
sys.setprofile(fail)
""",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="sets a trace in the frames of the sandbox",
        code="""
import sys
def fail(*_): raise ValueError("hook")
frame = sys._getframe()
while frame:
    frame.f_trace = fail
    frame = frame.f_back
sys.settrace(fail)
""",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="adds an audit hook that fails",
        code="import sys\nsys.addaudithook(lambda name, a: 1 / 0)",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="adds an audit hook against forks",
        code="""
import sys
def hook(name, arguments):
    if name.startswith(("os.fork", "ctypes", "gc", "os.chdir")): raise OSError("no")
sys.addaudithook(hook)
""",
        ends="ok|exit|exception",
        then=(),
    ),
    Attack(
        name="adds hooks to fork that fail",
        code="def fail(): raise SystemExit(3)\nos.register_at_fork(before=fail, after_in_parent=fail, after_in_child=fail)",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="adds a hook to fork that never ends",
        code="def loop():\n    while True: pass\nos.register_at_fork(before=loop)",
        ends="ok|exit|exception|killed|timeout",
        then=AGAIN,
    ),
    Attack(
        name="adds hooks to the fork of threads that make threads",
        code="""
import threading
def crowd(): threading.Thread(target=iter(int, 1).__next__, daemon=True).start()
os.register_at_fork(before=crowd, after_in_parent=crowd, after_in_child=crowd)
crowd()
""",
        ends="limit",
        then=AGAIN,
    ),
    Attack(
        name="takes away the sandbox's own hook and makes threads",
        code="""
import threading
libc.__unregister_atfork(None)
t = threading.Thread(target=int); t.start(); t.join()
""",
        ends="ok|limit|exception",
        then=AGAIN,
    ),
    Attack(
        name="has the C library loop in each child of a fork of threads",
        code="""
import threading
hook = ctypes.CFUNCTYPE(None)(lambda: any(iter(int, 1)))
libc.__register_atfork(None, None, hook, None)
t = threading.Thread(target=int); t.start(); t.join()
""",
        then=(),
        spoils=True,
    ),
    Attack(
        name="has an audit hook set the trace when the profile is taken away",
        code="import sys\ntrace = lambda *_: trace\nsys.addaudithook(lambda name, _: sys.settrace(trace) if name == 'sys.setprofile' else None)",
        ends="timeout|exception",
        timeout_s=1.0,
        then=AGAIN,
    ),
    Attack(
        name="leaves finalizers that fail",
        code="""
import atexit, gc, weakref
class A: pass
def fail(*_): raise KeyboardInterrupt
a = A()
weakref.finalize(a, fail); atexit.register(fail)
gc.callbacks.append(fail)
gc.set_threshold(1)
class D:
    def __del__(self): raise KeyboardInterrupt
d = D(); d.me = d
del a, d
""",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="leaves settings of libraries changed",
        code="""
import locale, warnings, numpy as np, matplotlib, decimal, sys
warnings.simplefilter("error"); np.seterr(all="raise"); np.set_printoptions(threshold=0)
matplotlib.rcParams["figure.figsize"] = (1e4, 1e4)
decimal.getcontext().prec = 1
sys.set_int_max_str_digits(640)
sys.setswitchinterval(1e-6)
os.umask(0o777)
""",
        then=AGAIN,
    ),
    Attack(
        name="changes the locale",
        code="import locale\nlocale.setlocale(locale.LC_ALL, 'C')\nlibc.setlocale(6, b'C')",
        then=AGAIN,
    ),
    Attack(
        name="closes the standard streams",
        code="import sys\nsys.stdout.close(); sys.stderr.close()",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="detaches the standard streams",
        code="import sys\nsys.stdout.detach(); sys.stderr.buffer.raw.close()",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="replaces the standard streams",
        code="import sys\nsys.stdout = sys.stderr = sys.stdin = None",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="reconfigures the standard streams",
        code="import sys\nsys.stdout.reconfigure(encoding='utf-16', errors='strict', newline='\\r')",
        ends="ok|exception",
        then=(("1", None),),
        spoils=True,
    ),
    Attack(
        name="replaces environment and search path",
        code="import sys\nos.environ.clear()\nsys.path[:] = ['.']\nsys.meta_path.clear(); sys.path_hooks.clear()\nos.environ['HOME'] = os.getcwd()\nos.environ['TMPDIR'] = os.getcwd() + '/../tmp'",
        then=AGAIN,
    ),
    Attack(
        name="writes modules that hide the real ones",
        code="""
for name in ("json", "os", "numpy", "socket", "linecache", "wave"):
    with open(name + ".py", "w") as file: file.write("raise SystemExit('mine')")
import sys; sys.path.insert(0, os.getcwd())
""",
        ends="ok",
        then=(
            (
                "import json; print(json.dumps(1))\nfor n in ('json', 'os', 'numpy', 'socket', 'linecache', 'wave'): os.remove(n + '.py')",
                "1\n",
            ),
        ),
    ),
)
