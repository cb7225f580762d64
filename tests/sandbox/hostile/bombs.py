# ruff: noqa: E501  The code of the attacks is data.
"""Attempts to take more than a session may have."""

from hostile.attack import Attack

PROCESSES = (
    Attack(name="forks until it cannot", code="while True: os.fork()", ends="exception"),
    Attack(
        name="forks a thousand times and goes on",
        code="""
made = [libc.fork() for _ in range(1000)]
print(set(made))
""",
        says="{-1}\n",
    ),
    Attack(
        name="makes threads until it cannot",
        code="""
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
""",
        ends="limit",
    ),
    Attack(
        name="makes threads that make threads",
        code="""
import _thread, time
def breed():
    while True:
        try:
            _thread.start_new_thread(breed, ())
        except RuntimeError:
            time.sleep(0.01)
breed()
""",
        ends="timeout",
        timeout_s=0.6,
    ),
    Attack(
        name="makes threads with large stacks",
        code="""
import threading, time
threading.stack_size(1 << 29)
for _ in range(50):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
""",
        ends="limit|memory",
    ),
    Attack(
        name="makes very many short threads",
        code="""
import threading
while True:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
""",
        ends="limit|timeout",
        timeout_s=1.0,
    ),
    Attack(
        name="leaves threads running for ever",
        hoards=True,
        code="""
import threading
ticks = [0]
def tick():
    while True:
        ticks[0] += 1
for _ in range(8):
    threading.Thread(target=tick).start()
""",
        then=(("import time; before = ticks[0]; time.sleep(0.05); print(ticks[0] == before)", "True\n"),),
    ),
    Attack(
        name="leaves a thread that writes files for ever",
        code="""
import threading, time
def write():
    number = 0
    while True:
        number += 1
        with open(f"thread{number % 20}", "w") as file:
            _ = file.write(str(number))
        os.remove(f"thread{(number * 7) % 20}") if os.path.exists(f"thread{(number * 7) % 20}") else None
for _ in range(3):
    threading.Thread(target=write, daemon=True).start()
time.sleep(0.05)
""",
        then=(
            (
                "import glob, time; a = {p: open(p).read() for p in glob.glob('thread*')}; time.sleep(0.05)\n"
                "print(a == {p: open(p).read() for p in glob.glob('thread*')})\n"
                "for p in a: os.remove(p)",
                "True\n",
            ),
        ),
    ),
    Attack(
        name="leaves threads that print for ever",
        code="""
import threading
def talk():
    while True:
        print("a")
for _ in range(3):
    threading.Thread(target=talk, daemon=True).start()
""",
        then=(("print('quiet')", "quiet\n"),),
    ),
    Attack(
        name="leaves threads that allocate and import for ever",
        code="""
import importlib, threading, json.tool
def work():
    while True:
        importlib.reload(json.tool)
        bytearray(1 << 16)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
""",
        then=(("import json.tool, wave; print(len(bytearray(1 << 16)))", "65536\n"),),
    ),
    Attack(
        name="burns processor time in threads",
        code="""
import hashlib, threading
def burn():
    while True:
        hashlib.sha256(bytes(1 << 20)).digest()
for _ in range(4):
    threading.Thread(target=burn).start()
burn()
""",
        ends="timeout",
        timeout_s=8.0,
    ),
)

MEMORY = (
    Attack(name="asks numpy for memory", code="import numpy as np; np.ones((1 << 36,), np.uint8)", ends="memory"),
    Attack(
        name="fills memory by numpy",
        code="import numpy as np; parts = []\nwhile True: parts.append(np.ones(1 << 23))",
        ends="memory",
    ),
    Attack(name="asks for a terabyte of bytes", code="b'x' * (1 << 40)", ends="memory"),
    Attack(name="grows a list", code="parts = []\nwhile True: parts.append(bytearray(1 << 24))", ends="memory"),
    Attack(name="grows a string", code="text = 'x' * (1 << 20)\nwhile True: text = text + text", ends="memory"),
    Attack(
        name="makes small objects for ever",
        code="x = None\nwhile True: x = [x] * 50",
        ends="memory|timeout|killed",
        timeout_s=1.5,
    ),
    Attack(
        name="maps private memory",
        code="""
import mmap
maps = []
while True:
    maps.append(mmap.mmap(-1, 1 << 26, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    maps[-1].write(b"x" * (1 << 26))
""",
        ends="exception|memory",
    ),
    Attack(
        name="maps shared memory",
        code="""
import mmap
maps = []
while True:
    maps.append(mmap.mmap(-1, 1 << 26))
    maps[-1].write(b"x" * (1 << 26))
""",
        ends="exception|memory|timeout",
    ),
    Attack(
        name="allocates by the C library",
        code="libc.malloc.restype = ctypes.c_void_p\nlibc.memset(ctypes.c_void_p(libc.malloc(ctypes.c_size_t(1 << 40))), 1, 1 << 20)",
        ends="killed",
    ),
    Attack(name="computes a tower of powers", code="9 ** 9 ** 9", ends="timeout|memory", timeout_s=0.5),
    Attack(
        name="inflates a bomb",
        code="import zlib\nsmall = zlib.compress(bytes(1 << 28), 1)\nparts = []\nwhile True: parts.append(zlib.decompress(small))",
        ends="memory|timeout",
    ),
    Attack(
        name="fills kernel buffers by sockets and pipes",
        hoards=True,
        code="""
held = []
while len(held) < 200:
    near, far = socket.socketpair()
    held += [near, far]
    near.setblocking(False)
    try:
        while True:
            near.send(bytes(1 << 16))
    except BlockingIOError:
        pass
""",
    ),
    Attack(
        name="puts descriptors in flight",
        hoards=True,
        code="""
import array
held = []
try:
    for _ in range(30):
        near, far = socket.socketpair()
        held += [near, far]
        near.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [near.fileno()] * 200))])
except OSError:
    pass
""",
        then=(("print(len(held) > 0)", "True\n"),),
    ),
)

FILES = (
    Attack(
        name="fills the disk with one file",
        code="with open('big', 'wb') as file:\n    while True: file.write(bytes(1 << 20))",
        ends="limit",
    ),
    Attack(
        name="fills the disk with many files",
        code="for n in range(10**6):\n    with open(f'big{n}', 'wb') as file: file.write(bytes(1 << 21))",
        ends="limit",
        where="full",
    ),
    Attack(
        name="makes more files than it may",
        code="for n in range(10**6): open(f'small{n}', 'w').close()",
        ends="limit|timeout",
        timeout_s=2.0,
        where="full",
    ),
    Attack(
        name="makes more files than it may and stops",
        code="for n in range(1500): open(f'small{n}', 'w').close()",
        ends="limit",
    ),
    Attack(
        name="makes very many folders",
        code="for n in range(550): os.mkdir(f'folder{n}')",
        ends="ok|limit",
        then=(("import shutil\nfor n in range(550): os.path.exists(f'folder{n}') and os.rmdir(f'folder{n}')", ""),),
    ),
    Attack(name="makes very deep folders", code="for _ in range(300):\n    os.mkdir('d'); os.chdir('d')", ends="limit"),
    Attack(
        name="makes very deep folders and fails",
        code="for _ in range(300):\n    os.mkdir('d' * 200); os.chdir('d' * 200)\n1 / 0",
        ends="exception",
    ),
    Attack(
        name="makes wide and deep folders and fails",
        code="for a in range(10):\n  for b in range(10):\n    os.makedirs(f'a{a}/b{b}/c')\n    open(f'a{a}/b{b}/c/f', 'w').close()\nos.chmod('a1', 0)\n1 / 0",
        ends="exception",
    ),
    Attack(
        name="uses long and strange names",
        code="""
for name in ("x" * 255, "\\U0001F600" * 63, "a\\nb", " ", "-rf", "\\udc80\\udcff", "*", "..x", "con\\x01"):
    os.makedirs(name + "/sub/sub")
    open(name + "/sub/file", "w").close()
1 / 0
""",
        ends="exception",
    ),
    Attack(
        name="keeps long and strange names",
        code="""
names = ("x" * 255, "\\U0001F600" * 63, "a\\nb", " ", "-rf", "\\udc80\\udcff", "*", "..x", "con\\x01")
for name in names:
    os.makedirs(name + "/sub")
""",
        then=(("import shutil\nfor name in names: shutil.rmtree(name)\n1/1;", ""),),
    ),
    Attack(
        name="makes names that the clean-up might use",
        code="""
for top in ("a", "b"):
    os.makedirs(f"{top}/sub/sub")
    for n in range(5):
        for shape in (f"{top}.gone-{n}", f".gone-{n}", f"gone-{n}", f"{top}-{n}", f".{top}.{n}", f".sbx{n}", str(n)):
            if not os.path.exists(shape): open(shape, "w").close() if n % 2 else os.makedirs(shape + "/full")
1 / 0
""",
        ends="exception",
    ),
    Attack(name="makes a file of holes", code="with open('holes', 'wb') as file: file.truncate(1 << 50)", ends="limit"),
    Attack(
        name="makes many files of holes",
        code="for n in range(100):\n    with open(f'holes{n}', 'wb') as file: file.truncate(15 << 20)",
        ends="limit",
    ),
    Attack(
        name="makes hard links and link loops",
        code="""
for n in range(300): os.link("kept.txt", f"hard{n}")
os.symlink("loop", "loop")
os.symlink(".", "here")
with open("hard7", "w") as file: file.write("spoilt")
1 / 0
""",
        ends="exception",
    ),
    Attack(
        name="keeps files that are removed but open",
        hoards=True,
        code="""
with open("large", "wb") as file: file.write(bytes(4 << 20))
ghost = open("ghost", "w+")
os.remove("ghost")
""",
        then=(("os.path.getsize('large') and None", ""),),
    ),
    Attack(
        name="fills a removed file of the last run and fails",
        before="with open('large', 'wb') as file: _ = file.write(bytes([7]) * (6 << 20))\nghost = open('ghost', 'w+b')\nos.remove('ghost')",
        code="os.remove('large')\ntry:\n    while True: ghost.write(bytes(1 << 20)); ghost.flush()\nexcept OSError: pass\n1 / 0",
        ends="exception",
        then=(
            (
                "import hashlib; print(hashlib.sha256(open('large', 'rb').read()).hexdigest() == hashlib.sha256(bytes([7]) * (6 << 20)).hexdigest())",
                "True\n",
            ),
        ),
    ),
    Attack(
        name="opens files until it cannot", code="held = []\nwhile True: held.append(open('kept.txt'))", ends="limit"
    ),
    Attack(name="opens pipes until it cannot", code="while True: os.pipe()", ends="limit"),
    Attack(
        name="keeps as many descriptors as it can",
        code="held = []\ntry:\n    while True: held.append(os.dup(0))\nexcept OSError: pass\nos.close(held.pop()); os.close(held.pop()); os.close(held.pop()); os.close(held.pop())",
        then=(("[os.close(n) for n in held]; print(len(held) > 20)", "True\n"),),
    ),
    Attack(
        name="nests epolls",
        code="""
import select
first = select.epoll()
held = [first]
for _ in range(60):
    made = select.epoll()
    try: made.register(held[-1].fileno(), select.EPOLLIN)
    except OSError: break
    held.append(made)
for one in held: one.close()
""",
    ),
)

OUTPUT = (
    Attack(name="prints for ever", code="while True: print('x' * 10000)", ends="limit|timeout"),
    Attack(
        name="prints to standard error for ever",
        code="import sys\nwhile True: sys.stderr.write('y' * 10000)",
        ends="limit|timeout",
    ),
    Attack(name="prints forty megabytes at once", code="print('z' * (40 << 20))", ends="limit|ok|memory"),
    Attack(name="prints bytes that are no text", code="os.write(1, bytes(range(256)) * 1000)"),
    Attack(
        name="warns and logs for ever",
        code="import logging, warnings\nwhile True:\n    logging.error('e' * 1000); warnings.warn('w' * 1000)",
        ends="limit|timeout",
        timeout_s=1.0,
    ),
    Attack(
        name="makes a flood of figures",
        code="import matplotlib.pyplot as plt\nfor n in range(40):\n    plt.figure(figsize=(1, 1), dpi=20); plt.plot([n, 1])",
        timeout_s=20.0,
    ),
    Attack(
        name="makes a giant figure",
        code="import matplotlib.pyplot as plt\nplt.figure(figsize=(1e5, 1e5)); plt.plot([1, 2]); plt.show()",
    ),
    Attack(
        name="draws a figure that does not end",
        code="""
import matplotlib.pyplot as plt
class Slow(plt.Line2D):
    def draw(self, *_):
        while True: pass
plt.gca().add_line(Slow([0, 1], [0, 1]))
""",
        ends="timeout",
        timeout_s=0.5,
    ),
    Attack(
        name="shows giant images",
        code="from PIL import Image\nImage.new('1', (16000, 16000)).show()\nImage.new('L', (1 << 25, 1)).show()",
    ),
    Attack(
        name="makes images larger than memory",
        code="from PIL import Image\nImage.new('RGB', (100000, 100000))",
        ends="memory",
    ),
    Attack(
        name="shows more images than are returned",
        code="from PIL import Image\nfor n in range(200): Image.new('L', (64, 64), n).show()",
    ),
    Attack(
        name="shows more bytes than are returned",
        code="import numpy as np\nfrom PIL import Image\nfor n in range(12): Image.new('RGB', (1500, 1500), (n, 0, 0)).show()",
    ),
    Attack(
        name="saves a bomb as a picture",
        code="""
import struct, zlib
def chunk(kind, content): return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
head = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
squeezed = zlib.compress(bytes(1 << 22), 9)
with open("bomb.png", "wb") as file: file.write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", squeezed) + chunk(b"IEND", b""))
import PIL.Image
PIL.Image.MAX_IMAGE_PIXELS = None
""",
        then=(("os.remove('bomb.png')", ""),),
    ),
    Attack(
        name="saves broken pictures",
        code="""
import random
for n, suffix in enumerate(("png", "jpg", "gif", "tif", "bmp", "webp") * 20):
    heads = (b"\\x89PNG\\r\\n\\x1a\\n", b"\\xff\\xd8\\xff\\xe0", b"GIF89a", b"II*\\0", b"BM", b"RIFF\\xff\\xff\\xff\\xffWEBPVP8L")
    with open(f"broken{n}.{suffix}", "wb") as file: file.write(heads[n % 6] + random.randbytes(300))
""",
        then=(("import glob\nfor p in glob.glob('broken*'): os.remove(p)", ""),),
    ),
    Attack(
        name="saves pictures that are links, folders and pipes",
        code="""
os.symlink(target["secret"], "a.png"); os.symlink("/dev/zero", "b.png"); os.mkdir("c.png"); os.symlink("d.png", "d.png")
""",
        then=(("[os.remove(p) for p in ('a.png', 'b.png', 'd.png')]; os.rmdir('c.png')", None),),
    ),
    Attack(
        name="hides a nest of picture folders",
        code="""
for a in range(6):
    for b in range(6):
        os.makedirs(f"n/{a}.png/{b}.png")
        open(f"n/{a}.png/{b}.png/x.png", "wb").close()
import shutil; shutil.rmtree("n")
""",
    ),
)

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

BOMBS = PROCESSES + MEMORY + FILES + OUTPUT + TIME
