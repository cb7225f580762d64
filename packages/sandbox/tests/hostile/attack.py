"""What an attack is: code, how the run must end, and what it may print."""

from dataclasses import dataclass
from typing import Literal

Where = Literal["everywhere", "full"]
"""``full``: promised by namespaces only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack:
    """Code that must not get what it wants."""

    name: str
    code: str
    ends: str = "ok"
    """``ok`` or kinds of error, several with a bar between: which one comes first may depend on the machine."""
    says: str | None = None
    """All that the run prints, when it matters."""
    before: str = ""
    """A run that must end well, made first."""
    then: tuple[tuple[str, str | None], ...] = ()
    """Runs made afterwards, which must end well, and what each must print (None: anything)."""
    timeout_s: float = 5.0
    where: Where = "everywhere"
    is_slow: bool = False
    """Whether the sandbox waits long before it gives up on it."""
    ends_session: bool = False
    """Whether the session must end, and say why: the run that failed took away a file that an earlier run left open."""
    hoards: bool = False
    """Whether a new session must be had while the attacked one holds what it took."""
    spoils: bool = False
    """Whether the session's own tools for looking at files may be broken by it, as it asked for."""


NOTHING = "reached: {}\n"
"""Printed by ``reach`` when every attempt was refused."""

PRELUDE = '''
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

def syscall(number, *arguments):
    """What the kernel answers: a result, or a negative error number."""
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return -ctypes.get_errno() if result == -1 else result

def reach(attempts):
    """Prints what came of the attempts that were not refused."""
    reached = {}
    for name, attempt in attempts.items():
        try:
            reached[name] = repr(attempt())[:200]
        except (OSError, ValueError, RuntimeError, ImportError, AttributeError, EOFError):
            pass
    print("reached:", reached)

def call_all(numbers, *arguments):
    """Prints the system calls that were not refused."""
    answers = {name: syscall(number, *arguments) for name, number in numbers.items()}
    print("reached:", {name: a for name, a in answers.items() if a not in (-errno.EPERM, -errno.ENOSYS)})

kept = {"list": [1, 2, 3], "text": "kept"}
counter = iter(range(10))
next(counter)
os.makedirs("folder/inner")
os.mkdir("closed")
with open("kept.txt", "w") as file:
    _ = file.write("kept")
with open("folder/inner/deep.bin", "wb") as file:
    _ = file.write(bytes(range(256)))
with open(os.environ["TMPDIR"] + "/temporary.txt", "w") as file:
    _ = file.write("temporary")
os.symlink("kept.txt", "link")
os.chmod("folder/inner/deep.bin", 0o640)
handle = open("kept.txt")
_ = handle.read(2)
'''
"""The first run of each attacked session: tools for attacks, and a state to lose."""

LOOK = """
import hashlib, os, stat
print(kept, counter.__length_hint__(), handle.tell(), handle.read(), handle.seek(2))
top = os.path.dirname(os.environ["HOME"])
print(".", oct(os.stat(top).st_mode))
for part in ("work", "tmp"):
    for folder, _, names in sorted(os.walk(f"{top}/{part}")):
        for path in [folder, *(os.path.join(folder, name) for name in sorted(names))]:
            found = os.lstat(path)
            content = ""
            if stat.S_ISLNK(found.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(found.st_mode):
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()[:16]
            print(os.path.relpath(path, top), oct(found.st_mode), content)
"""
"""Prints a session's variables in its first line, and then its files: mode and content of each."""

X = ("print(kept['text'])", "kept\n")
"""A run that shows that the session has its variables."""
AGAIN = (X, X)
"""Two of them: what a run left behind may only show when the process after the next is made."""
