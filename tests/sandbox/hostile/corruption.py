# ruff: noqa: E501  The code of the attacks is data.
"""Attempts to spoil the session's interpreter, its files or what the keeper believes of it."""

from hostile.attack import Attack

X = ("print(kept['text'])", "kept\n")
"""A run that shows that the session has its variables."""
AGAIN = (X, X)

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
    if name.startswith(("os.fork", "ctypes", "compile")): raise OSError("no")
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

KERNEL = (
    Attack(name="closes every descriptor", code="os.closerange(0, 256)", ends="exit|exception|killed"),
    Attack(name="closes the sandbox's descriptors", code="os.closerange(100, 106)", ends="exit|exception|killed"),
    Attack(
        name="closes standard output", code="os.close(1); os.close(2); os.close(0)", ends="ok|exception", then=AGAIN
    ),
    Attack(
        name="puts other files where the sandbox has its own",
        code="for n in (100, 101, 102, 103, 104, 105): os.dup2(0, n)",
        ends="exit|exception|killed",
    ),
    Attack(
        name="puts its own socket in the place of the channel",
        code="near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\nos.dup2(near.fileno(), 103)",
        ends="exit|exception|killed|timeout",
        timeout_s=1.0,
    ),
    Attack(
        name="swaps the memory files",
        code="a, b = os.dup(101), os.dup(105)\nos.dup2(b, 101); os.dup2(a, 105)",
        ends="exit|exception|killed",
    ),
    Attack(
        name="shuts the channel down",
        code="kept.clear(); socket.socket(fileno=os.dup(103)).shutdown(socket.SHUT_RDWR); 1 / 0",
        ends="exit|exception|killed",
    ),
    Attack(
        name="makes the channel non-blocking and fails",
        code="os.set_blocking(103, False); 1 / 0",
        ends="exception",
        then=(X, X, X),
    ),
    Attack(name="makes the channel non-blocking", code="os.set_blocking(103, False)", then=(X, X, X)),
    Attack(
        name="moves the ends of the memory files",
        code="import fcntl\nfor n in (101, 102): fcntl.fcntl(n, fcntl.F_SETFL, 0)\nos.write(1, b'q' * 100000); os.lseek(101, 1 << 20, 0); 1 / 0",
        ends="exception",
        then=AGAIN,
    ),
    Attack(
        name="cuts and writes the memory files",
        code="os.ftruncate(101, 0); os.ftruncate(105, 1 << 20); os.pwrite(104, b'x' * 100, 0); os.ftruncate(104, 0)",
        then=AGAIN,
    ),
    Attack(
        name="maps the memory files and keeps the maps",
        code="import mmap\nos.ftruncate(101, 1 << 16); os.ftruncate(105, 1 << 16)\nmaps = [mmap.mmap(n, 1 << 16) for n in (101, 105)]",
        then=(X, X),
        spoils=True,
    ),
    Attack(
        name="locks the memory files",
        code="import fcntl\nfor n in range(100, 106):\n    try: fcntl.flock(n, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.lockf(n, fcntl.LOCK_EX | fcntl.LOCK_NB)\n    except OSError: pass",
        then=AGAIN,
    ),
    Attack(
        name="ignores the end of its children",
        code="import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nNone",
        then=AGAIN,
    ),
    Attack(
        name="handles every signal with an error",
        code="import signal\nfor n in range(1, 65):\n    try: signal.signal(n, lambda *_: 1 / 0)\n    except (OSError, ValueError): pass",
        ends="ok|exit|exception",
        then=AGAIN,
    ),
    Attack(
        name="handles the signal to go on",
        code="import signal\nsignal.signal(signal.SIGCONT, lambda *_: os._exit(1))\nNone",
        then=AGAIN,
    ),
    Attack(
        name="sets signal actions by the C library",
        code="for n in range(1, 65): libc.signal(n, ctypes.c_void_p(1))",
        then=AGAIN,
    ),
    Attack(
        name="blocks all signals",
        code="import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nNone",
        then=AGAIN,
    ),
    Attack(
        name="leaves timers behind",
        code="import signal\nkeep = signal.setitimer\nsignal.setitimer = lambda *_: None\nfor k in (0, 1, 2): keep(k, 0.2, 0.01)",
        ends="ok|exit|exception",
        then=(("import time; time.sleep(0.3); print(kept['text'])", "kept\n"), X),
    ),
    Attack(
        name="leaves timers behind by the C library",
        code="spec = (ctypes.c_long * 4)(0, 10000, 0, 150000)\nfor k in (0, 1, 2): libc.setitimer(k, spec, None)",
        ends="ok|killed",
        then=(("import time; time.sleep(0.3); print(kept['text'])", "kept\n"), X),
    ),
    Attack(
        name="leaves a watchdog behind",
        code="import faulthandler\nfaulthandler.cancel_dump_traceback_later, keep = (lambda: None), faulthandler.dump_traceback_later\nkeep(0.2, exit=True)",
        then=(("import time; time.sleep(0.3); print(kept['text'])", "kept\n"), X),
    ),
    Attack(name="asks to die with its parent", code="libc.prctl(1, 9, 0, 0, 0)", says="0\n", then=AGAIN),
    Attack(
        name="asks to die with its parent in a thread",
        code="import threading\nt = threading.Thread(target=lambda: [libc.prctl(1, 9, 0, 0, 0) for _ in iter(int, 1)], daemon=True)\nt.start()",
        then=AGAIN,
    ),
    Attack(
        name="takes away its working folder",
        code="os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
        then=(X, ("os.chdir(os.environ['HOME']); print(open('kept.txt').read())", "kept\n")),
    ),
    Attack(
        name="makes its folders unreadable and fails",
        code="top = os.path.dirname(os.environ['HOME'])\nfor p in ('kept.txt', 'folder/inner/deep.bin', 'folder/inner', 'folder', top + '/work', top + '/tmp', top): os.chmod(p, 0)\n1 / 0",
        ends="exception",
    ),
    Attack(
        name="makes its folders unreadable",
        code="os.chmod('folder/inner/deep.bin', 0); os.chmod('folder/inner', 0)",
        then=(("1 / 1", "1.0\n"), ("os.chmod('folder/inner', 0o755); os.chmod('folder/inner/deep.bin', 0o640)", "")),
    ),
    Attack(
        name="removes its whole tree and fails",
        code="import shutil\ntop = os.path.dirname(os.environ['HOME'])\nshutil.rmtree(top, ignore_errors=True)\n1 / 0",
        ends="exception",
    ),
    Attack(
        name="renames its top folders and fails",
        code="top = os.path.dirname(os.environ['HOME'])\nos.rename(top + '/work', top + '/old'); os.symlink('/', top + '/work'); os.rename(top + '/tmp', top + '/old/tmp'); open(top + '/tmp', 'w').close()\n1 / 0",
        ends="exception|exit",
    ),
    Attack(
        name="renames its top folders",
        code="top = os.path.dirname(os.environ['HOME'])\nos.rename(top + '/work', top + '/old'); os.symlink('/', top + '/work')",
        ends="ok|limit|exit|exception|timeout",
        then=(
            (
                "top = os.path.dirname(os.environ['HOME'])\nif os.path.islink(top + '/work'):\n    os.remove(top + '/work'); os.rename(top + '/old', top + '/work')\nos.chdir(top + '/work')",
                "",
            ),
            X,
        ),
    ),
    Attack(
        name="turns files into folders and links and fails",
        code="import shutil\nos.remove('kept.txt'); os.makedirs('kept.txt/kept.txt'); shutil.rmtree('folder'); os.symlink('/', 'folder'); os.remove('link'); os.rmdir('closed'); open('closed', 'w').close()\n1 / 0",
        ends="exception",
    ),
    Attack(
        name="replaces a file by a link to another and fails",
        code="os.remove('folder/inner/deep.bin'); os.link('kept.txt', 'folder/inner/deep.bin'); 1 / 0",
        ends="exception",
    ),
    Attack(
        name="writes through a link of a file and fails",
        code="os.link('kept.txt', 'zz')\nwith open('zz', 'w') as f: f.write('spoilt' * 1000)\nos.remove('zz'); 1 / 0",
        ends="exception",
    ),
    Attack(
        name="writes by a memory map and fails",
        code="import mmap\nwith open('folder/inner/deep.bin', 'r+b') as f:\n    m = mmap.mmap(f.fileno(), 256); m[:] = bytes(256); m.flush()\nos.utime('folder/inner/deep.bin', (0, 0)); 1 / 0",
        ends="exception",
    ),
    Attack(
        name="moves the offset of a file that is open and fails",
        code="handle.read(); handle.seek(0); os.lseek(handle.fileno(), 1, 0); 1 / 0",
        ends="exception",
    ),
    Attack(name="cuts a file that is open and fails", code="os.truncate('kept.txt', 0); 1 / 0", ends="exception"),
    Attack(name="removes a file that is open and fails", code="os.remove('kept.txt'); 1 / 0", ends="exception"),
    Attack(
        name="writes by a handle of an earlier run and fails",
        before="log = open('log.txt', 'w'); _ = log.write('first'); log.flush()",
        code="log.write('second'); log.flush(); log.truncate(2); 1 / 0",
        ends="exception",
        then=(("log.write('!'); log.flush(); print(open('log.txt').read())", None), X),
        spoils=True,
    ),
    Attack(
        name="fails in the middle of a generator, a lock and a context",
        before="import threading\nlock = threading.Lock()\ndef steps():\n    yield 1\n    yield 2\n    yield 3\nrunning = steps(); _ = next(running)",
        code="lock.acquire(); next(running); next(running); 1 / 0",
        ends="exception",
        then=(("print(next(running), lock.acquire(blocking=False)); lock.release()", "2 True\n"),),
    ),
)

FORGERY = (
    Attack(
        name="says that it is done",
        code="""
import json
channel = socket.socket(fileno=os.dup(103))
for kind in ("hi", "started", "done", "moved", "gone", "fail", "refused", "image"):
    channel.send(json.dumps({"kind": kind, "pid": os.getpid(), "status": 0, "threads": 1}).encode())
kept.clear()
1 / 0
""",
        ends="ok|exit|exception|killed|timeout",
        timeout_s=1.0,
        spoils=True,
        then=(),
    ),
    Attack(
        name="speaks as its parent",
        code="""
import json, struct
channel = socket.socket(fileno=os.dup(103))
def speak(pid):
    credentials = struct.pack("iii", pid, os.getuid(), os.getgid())
    channel.sendmsg([json.dumps({"kind": "gone", "status": 0, "pid": pid}).encode()], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, credentials)])
reach({pid: lambda pid=pid: speak(pid) for pid in (os.getppid(), 1)})
channel.send(json.dumps({"kind": "gone", "status": 0, "pid": os.getppid()}).encode())
kept.clear()
1 / 0
""",
        ends="exception",
        says="reached: {}\n",
    ),
    Attack(
        name="sends garbage",
        code="""
channel = socket.socket(fileno=os.dup(103))
junk = [b"", b"\\0" * 60000, b"{" * 60000, b"[" * 60000, b"nul", b"\\xff\\xfe{}", b'{"kind": 3}', b'{"kind": ["done"]}', b'{"kind": "image"}',
        b'{"kind": "image", "width": 1e308, "height": NaN, "start": -1}', b'{"kind": "image", "width": 4096, "height": 4096, "start": 99999999999999999999}',
        b'{"kind": "image", "width": -1, "height": -5, "start": 0}', b'{"kind": "\\\\ud800"}', b"1" * 60000, b'{"a": ' + b"1" * 5000 + b"}"]
for part in junk[1:]:
    channel.send(part)
""",
        then=AGAIN,
    ),
    Attack(name="sends an empty message", code="socket.socket(fileno=os.dup(103)).send(b'')", then=AGAIN),
    Attack(
        name="fills the channel and goes",
        code="""
channel = socket.socket(fileno=os.dup(103))
try:
    while True: channel.send(b"x" * 30, socket.MSG_DONTWAIT)
except BlockingIOError: pass
os._exit(3)
""",
        ends="exit",
    ),
    Attack(
        name="fills the channel in a thread for ever",
        code="""
import threading
channel = socket.socket(fileno=os.dup(103))
def flood():
    while True: channel.send(b'{"kind": "image", "width": 1, "height": 1, "start": 0}')
for _ in range(3): threading.Thread(target=flood, daemon=True).start()
import time; time.sleep(0.1)
""",
        ends="ok|timeout|killed|limit",
        then=AGAIN,
        timeout_s=2.0,
    ),
    Attack(
        name="announces pictures that are not there",
        code="""
import json
channel = socket.socket(fileno=os.dup(103))
for n in range(40): channel.send(json.dumps({"kind": "image", "width": 2000, "height": 2000, "start": n << 40}).encode())
""",
        then=AGAIN,
    ),
    Attack(
        name="reads the keeper's orders in a thread",
        code="""
import threading
channel = socket.socket(fileno=os.dup(103))
def steal():
    while True: channel.recv(65536)
threading.Thread(target=steal, daemon=True).start()
import time; time.sleep(0.05)
""",
        ends="ok|killed|timeout",
        timeout_s=2.0,
        then=AGAIN,
    ),
    Attack(
        name="speaks as the state from a hook of fork",
        code="""
import json
def lie():
    channel = socket.socket(fileno=os.dup(103))
    for status in (0, 2**40, -1, 0x137F, "x"):
        channel.send(json.dumps({"kind": "gone", "status": status, "cpu_ms": 0, "pid": os.getpid()}).encode())
os.register_at_fork(after_in_parent=lie)
""",
        ends="ok|exit|exception|killed|timeout",
        timeout_s=1.0,
        spoils=True,
        then=(),
    ),
    Attack(
        name="has the state speak while the next run goes on",
        code="""
import json
real = os.wait4
def early(pid, options):
    import time; time.sleep(0.1)
    socket.socket(fileno=os.dup(103)).send(json.dumps({"kind": "gone", "status": 2**40, "pid": os.getpid()}).encode())
    time.sleep(0.2)
    return real(pid, options)
os.wait4 = early
""",
        ends="ok|exit|exception|killed",
        spoils=True,
        then=(),
    ),
)

CORRUPTION = ENDS + VARIABLES + KERNEL + FORGERY
