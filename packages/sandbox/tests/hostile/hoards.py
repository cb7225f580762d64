# ruff: noqa: E501  The code of the attacks is data.
"""Memory, kernel buffers and descriptors without end."""

from hostile.attack import AGAIN, Attack

MEMORY = (
    Attack(name="asks numpy for memory", code="import numpy as np; np.ones((1 << 36,), np.uint8)", ends="memory"),
    Attack(
        name="fills memory by numpy",
        code="import numpy as np; parts = []\nwhile True: parts.append(np.ones(1 << 23))",
        ends="memory|timeout",
    ),
    Attack(name="asks for a terabyte of bytes", code="b'x' * (1 << 40)", ends="memory"),
    Attack(name="grows a list", code="parts = []\nwhile True: parts.append(bytearray(1 << 24))", ends="memory|timeout"),
    Attack(name="grows a string", code="text = 'x' * (1 << 20)\nwhile True: text = text + text", ends="memory|timeout"),
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
        ends="exception|memory|timeout",
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
        name="maps memory that counts as a stack or is the machine's",
        code="""
libc.mmap.restype = ctypes.c_long
def made(flags):
    place = libc.mmap(None, ctypes.c_size_t(1 << 21), 3, 0x22 | flags, -1, ctypes.c_size_t(0))
    return hex(place) if place != -1 else int("no")
print(bool(made(0)))
reach({hex(flags): lambda flags=flags: made(flags) for flags in (0x100, 0x40000, 0x40100)})
""",
        says="True\nreached: {}\n",
    ),
    Attack(
        name="makes what it has filled read-only",
        code="""
libc.mmap.restype = ctypes.c_void_p
size, filled = 8 << 20, 0
while filled < 4 << 30:
    place = libc.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, ctypes.c_size_t(0))
    if place == 2**64 - 1: break
    ctypes.memset(place, 1, size)
    filled += size
    if libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(size), 1): break
print(filled <= 512 << 20)
""",
        says="True\n",
        timeout_s=10.0,
        then=AGAIN,
    ),
    Attack(
        name="maps a device of zeros as shared memory",
        code="""
import mmap
reach({"zero": lambda: mmap.mmap(os.open("/dev/zero", os.O_RDONLY), 1 << 20, mmap.MAP_SHARED, mmap.PROT_READ)[0]})
""",
        says="reached: {}\n",
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
