# ruff: noqa: E501  The code of the attacks is data.
"""What the trainer may have left in a session, and the network."""

from hostile.attack import NOTHING, Attack

INHERITANCE = (
    Attack(
        name="looks for inherited descriptors",
        code="""
found = []
for number in range(20000):
    try:
        os.fstat(number)
    except OSError:
        continue
    found.append(number)
print([n for n in found if n != handle.fileno()])
""",
        says="[0, 1, 2, 100, 101, 102, 103, 104, 105]\n",
    ),
    Attack(
        name="looks where its descriptors lead",
        code="""
import stat
kinds = {n: stat.S_IFMT(os.fstat(n).st_mode) for n in (0, 1, 2, 100, 101, 102, 103, 104, 105)}
print(any(stat.S_ISDIR(m) for m in kinds.values()), stat.S_ISSOCK(kinds[103]), os.isatty(0), os.isatty(1), os.read(0, 10))
channel = socket.socket(fileno=os.dup(103))
print(channel.family == socket.AF_UNIX, channel.getsockname())
""",
        says="False True False False b''\nTrue \n",
    ),
    Attack(
        name="reads the environment of the trainer",
        code="""
strings, at = [], 0
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
while environ[at]:
    strings.append(environ[at].split(b"=")[0].decode())
    at += 1
known = {"PATH", "LANG", "HOME", "TMPDIR", "PWD", "USER", "MPLBACKEND", "MPLCONFIGDIR", "LC_CTYPE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
         "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
         "VECLIB_MAXIMUM_NUM_THREADS", "LD_LIBRARY_PATH", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8",
         "OPENCV_LOG_TIMESTAMP"}
print(set(strings) - known, set(os.environ) - known)
""",
        says="set() set()\n",
    ),
    Attack(
        name="searches the heap for secrets of the trainer",
        code="""
import gc, sys
word = "".join(["CANARY", "-OF-", "TRAINER"])
frame, found = sys._getframe(), []
while frame:
    found += [n for n, v in frame.f_locals.items() if isinstance(v, str) and word in v]
    frame = frame.f_back
for thing in gc.get_objects():
    for part in (thing if isinstance(thing, (list, tuple)) else thing.values() if isinstance(thing, dict) else ()):
        if isinstance(part, (str, bytes)) and (word if isinstance(part, str) else word.encode()) in part:
            found.append(part[:40])
print([f for f in found if f != word and f != "word"])
""",
        says="[]\n",
    ),
    Attack(
        name="finds the sandbox's own objects and the trainer's modules",
        code="""
import sys
print([name for name in sys.modules if name.split(".")[0] in ("torch", "transformers", "pytest")], [name for name in sys.modules if name in (
    "saccade.sandbox.sandbox", "saccade.sandbox.session", "saccade.train", "saccade.engines")])
""",
        says="[] []\n",
    ),
    Attack(
        name="asks who and where it is",
        code="print(os.getuid(), os.uname().nodename, os.getpid() < 1000, os.getppid() < 1000)",
        says="1000 sandbox True True\n",
        where="full",
    ),
    Attack(name="asks for input", code="input('password: ')", ends="exception"),
    Attack(
        name="reads standard input",
        code="import sys; print(repr(open(0, closefd=False).read()), repr(sys.stdin and sys.stdin.read()))",
        ends="ok|exception",
    ),
)

NETWORK = (
    Attack(
        name="makes sockets of every family",
        code="""
reach({(family, kind): lambda f=family, k=kind: socket.socket(f, k) for family in range(1, 50) for kind in (1, 2, 3, 4, 5, 10)})
reach({family: lambda f=family: socket.socketpair(f, 1) for family in range(2, 50)})
""",
        says=NOTHING * 2,
    ),
    Attack(
        name="connects to listeners of this machine",
        code="""
import asyncio, urllib.request
reach({
    "tcp4": lambda: socket.create_connection(("127.0.0.1", target["tcp"]), 1), "tcp6": lambda: socket.create_connection(("::1", target["tcp"]), 1),
    "url": lambda: urllib.request.urlopen(f"http://127.0.0.1:{target['tcp']}", timeout=1).read(),
    "asyncio": lambda: asyncio.run(asyncio.open_connection("127.0.0.1", target["tcp"])),
    "name": lambda: socket.getaddrinfo("example.org", 80), "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
})
""",
        says=NOTHING,
    ),
    Attack(
        name="connects unix sockets that it was given",
        code="""
def connect(address):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        near, far = socket.socketpair(socket.AF_UNIX, kind)
        with near, far:
            try:
                near.connect(address)
                return "connected"
            except OSError:
                pass
            try:
                # The others send to their peer, whatever the address.
                if kind == socket.SOCK_DGRAM:
                    near.sendto(b"x", address)
                    return "sent"
            except OSError:
                pass
            try:
                if kind == socket.SOCK_DGRAM:
                    near.sendmsg([b"x"], [], 0, address)
                    return "sent"
            except OSError:
                pass
    raise OSError("refused")
reach({"abstract": lambda: connect("\\0" + target["abstract"]), "path": lambda: connect(target["unix"]),
       "abstract datagram": lambda: connect("\\0" + target["abstract"] + "-datagram"), "datagram": lambda: connect(target["unix"] + "-datagram")})
""",
        says=NOTHING,
    ),
    Attack(
        name="calls the network by number",
        code="""
near, far = socket.socketpair()
address = ctypes.create_string_buffer(b"\\x01\\x00\\x00" + target["abstract"].encode())
call_all({"socket": 41, "socket raw": 41}, 2, 1, 0)
call_all({"connect": 42, "bind": 49}, near.fileno(), address, len(address.raw) - 1)
call_all({"listen": 50, "accept": 43, "accept4": 288, "setsockopt": 54, "sendmmsg": 307, "recvmmsg": 299}, near.fileno(), 1, 2, 3, 4)
near.close(); far.close()
""",
        says=NOTHING * 3,
    ),
    Attack(
        name="passes its own descriptors to the keeper",
        code="""
import array
channel = socket.socket(fileno=os.dup(103))
try:
    for _ in range(20):
        channel.sendmsg([b'{"kind": "image"}'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 200))], socket.MSG_DONTWAIT)
except OSError:
    pass
""",
    ),
)
