# ruff: noqa: E501  The code of the attacks is data.
"""Messages to the keeper that are not true."""

from hostile.attack import AGAIN, Attack

FORGERY = (
    Attack(
        name="says that it is done",
        is_slow=True,
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
        name="fills the channel in many threads until its time is over",
        code="""
import threading
channel = socket.socket(fileno=os.dup(103))
def flood():
    while True: channel.send(b"{}")
for _ in range(16): threading.Thread(target=flood, daemon=True).start()
flood()
""",
        ends="timeout",
        timeout_s=0.5,
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
        is_slow=True,
        code="""
import threading
channel = socket.socket(fileno=os.dup(103))
def steal():
    while True: channel.recv(65536)
threading.Thread(target=steal, daemon=True).start()
import time; time.sleep(0.05)
""",
        ends="ok|limit|timeout",
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
    Attack(
        name="says that files were lost",
        code="""
channel = socket.socket(fileno=os.dup(103))
channel.send(b'{"kind": "lost"}')
1 / 0
""",
        ends="exception",
        then=AGAIN,
    ),
)
