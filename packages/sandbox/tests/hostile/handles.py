# ruff: noqa: E501  The code of the attacks is data.
"""Descriptors, signals, timers and files that the session and its next run share."""

from hostile.attack import AGAIN, Attack, X

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
        ends_session=True,
    ),
    Attack(
        name="renames its top folders and fails",
        code="top = os.path.dirname(os.environ['HOME'])\nos.rename(top + '/work', top + '/old'); os.symlink('/', top + '/work'); os.rename(top + '/tmp', top + '/old/tmp'); open(top + '/tmp', 'w').close()\n1 / 0",
        ends="exception|exit",
        ends_session=True,
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
        ends_session=True,
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
    Attack(
        name="changes flags and offsets of descriptors wherever they are and fails",
        before="""
import fcntl
held = [os.dup2(os.open("kept.txt", os.O_RDWR), number) for number in (40, 80, 99, 106, 130, 250, 255)] + list(os.pipe())
where = lambda: [fcntl.fcntl(n, fcntl.F_GETFL) for n in held] + [os.lseek(n, 0, 1) for n in held[:-2]]
at_first = where()
""",
        code="""
for n in held:
    fcntl.fcntl(n, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK)
    if n in held[:-2]: os.lseek(n, 3, 0)
1 / 0
""",
        ends="exception",
        then=(("print(where() == at_first)", "True\n"), X),
    ),
    Attack(
        name="locks a file that is open and fails",
        before="import fcntl; mine = os.open('kept.txt', os.O_RDWR)",
        code="fcntl.flock(mine, fcntl.LOCK_EX); fcntl.lockf(mine, fcntl.LOCK_EX); 1 / 0",
        ends="exception",
        then=(
            (
                "other = os.open('kept.txt', os.O_RDWR); fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)",
                "",
            ),
            X,
        ),
    ),
    Attack(
        name="makes kernel objects that the run before would share",
        code="""
import fcntl, select
def ofd(): return fcntl.fcntl(handle, 38, __import__("struct").pack("hhqqi", 1, 0, 0, 0, 0))
def made(number): return number if number >= 0 else int("no")
reach({"epoll": lambda: select.epoll(), "eventfd": lambda: made(libc.eventfd(0, 0)), "timerfd": lambda: made(libc.timerfd_create(1, 0)),
       "signalfd": lambda: made(libc.signalfd(-1, bytes(128), 0)), "inotify": lambda: made(libc.inotify_init()), "lock": ofd,
       "owner": lambda: fcntl.fcntl(handle, 8, os.getpid()), "lease": lambda: fcntl.fcntl(handle, 1024, 1),
       "notify": lambda: fcntl.fcntl(os.open(".", os.O_RDONLY), 1026, 0x80000001), "size": lambda: fcntl.fcntl(os.pipe()[0], 1031, 1 << 20),
       "seals": lambda: fcntl.fcntl(105, 1033, 2)})
import asyncio
print(asyncio.run(asyncio.sleep(0, "slept")))
""",
        says="reached: {}\nslept\n",
        then=AGAIN,
    ),
    Attack(name="cuts a file that is open and fails", code="os.truncate('kept.txt', 0); 1 / 0", ends="exception"),
    Attack(
        name="removes a file that is open and fails",
        code="os.remove('kept.txt'); 1 / 0",
        ends="exception",
        ends_session=True,
    ),
    Attack(
        name="replaces a file that is open and fails",
        code="open('other', 'w').close(); os.replace('other', 'kept.txt'); 1 / 0",
        ends="exception",
        ends_session=True,
    ),
    Attack(
        name="changes one name of a file with three and fails",
        before="os.link('kept.txt', 'folder/also.txt'); os.link('kept.txt', 'third.txt')",
        code="os.remove('third.txt'); open('third.txt', 'w').close(); open('folder/also.txt', 'w').write('spoilt'); 1 / 0",
        ends="exception",
        then=(("print(os.stat('third.txt').st_nlink, os.path.samefile('folder/also.txt', 'kept.txt'))", "3 True\n"), X),
    ),
    Attack(
        name="opens paths that cannot be polled",
        code="reach({'path': lambda: os.open('.', os.O_PATH), 'link': lambda: os.open('link', os.O_PATH | os.O_NOFOLLOW)})",
        says="reached: {}\n",
    ),
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
    Attack(
        name="shares memory with the run before it",
        code="""
import mmap
reach({"anonymous": lambda: mmap.mmap(-1, 4096), "zero": lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), 4096),
       "libc": lambda: 1 if libc.mmap(None, 4096, 3, 0x21, -1, 0) != -1 else int("no")})
""",
        says="reached: {}\n",
    ),
    Attack(
        name="has its own memory left out of the next process",
        code="import sys\nprint(libc.madvise(ctypes.c_void_p(id(sys.modules) & ~4095), 4096, 10))",
        says="0\n",
        spoils=True,
    ),
    Attack(
        name="has the C library loop in the next process before it forks",
        code="""
hook = ctypes.CFUNCTYPE(None)(lambda: any(iter(int, 1)))
libc.__register_atfork(hook, None, None, None)
""",
    ),
    Attack(
        name="has the C library fill the memory before each fork, which takes most of the processor time too",
        code="""
hook = ctypes.CFUNCTYPE(None)(lambda: [0 for _ in iter(int, 1)])
libc.__register_atfork(hook, None, None, None)
""",
        then=(("1", None), X, X),
    ),
    Attack(
        name="leaves the next process hardly any processor time",
        code="import time\nwhile time.process_time() < 0.8: pass",
        # On a busy machine the kernel's ticks reach the limit of one second first.
        ends="ok|timeout",
        then=AGAIN,
    ),
    Attack(
        name="removes its own code from memory",
        # The function that runs it, so that nothing can come after; the page of some object may never be touched again.
        code="""
running = ctypes.cast(ctypes.pythonapi._PyEval_EvalFrameDefault, ctypes.c_void_p).value
kept.clear()
libc.munmap(ctypes.c_void_p(running & ~4095), 1 << 16)
""",
        ends="killed",
    ),
)
