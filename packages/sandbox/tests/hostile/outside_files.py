# ruff: noqa: E501  The code of the attacks is data.
"""Files that are none of the session: read, written, linked, moved."""

from hostile.attack import NOTHING, Attack

FILES = (
    Attack(
        name="reads files of the host",
        code="""
paths = [target["secret"], "/etc/shadow", "/root/.bashrc", "/proc/1/environ", "/proc/kallsyms", "/sys/kernel/vmcoreinfo",
         "/var/log/dpkg.log", "/etc/machine-id", "/etc/ssl/openssl.cnf", "/proc/self/environ", "/proc/cmdline"]
reach({path: lambda path=path: open(path, "rb").read(100) for path in paths})
""",
        says=NOTHING,
    ),
    Attack(
        name="reads the accounts of the host",
        code="""
try:
    text = open("/etc/passwd").read()
except PermissionError:
    text = ""
print([line for line in text.splitlines() if line.split(":")[0] not in ("root", "user") or "/root" in line])
""",
        says="[]\n",
    ),
    Attack(
        name="lists folders of the host",
        code="""
paths = ["/root", "/home", "/var", "/sys", "/boot", "/opt", "/run", "/etc/ssl", target["folder"], "/work"]
reach({path: lambda path=path: os.listdir(path) for path in paths})
""",
        says=NOTHING,
    ),
    Attack(
        name="looks around in the root",
        code="""
import sys
libraries = {path.split("/")[1] for path in (sys.prefix, sys.base_prefix, *sys.path) if path.startswith("/")}
seen = [name for name in ("bin", "boot", "home", "opt", "run", "sbin", "srv", "sys") if os.path.exists("/" + name)]
print(sorted(os.listdir("/session")), [name for name in seen if name not in libraries])
reach({path: lambda path=path: os.listdir(path) for path in ("/", "/proc", "/dev")})
""",
        says="['tmp', 'work'] []\n" + NOTHING,
        where="full",
    ),
    Attack(
        name="asks whether files of the host exist",
        code="reach({p: lambda p=p: os.stat(p) for p in (target['secret'], '/etc/shadow', '/home', '/sys/kernel', '/proc/1')})",
        says=NOTHING,
        where="full",
    ),
    Attack(
        name="looks into processes through proc",
        code="""
paths = ["/proc/self/mem", "/proc/self/maps", "/proc/thread-self/status", "/proc/sys/kernel/core_pattern"]
paths += [f"/proc/{pid}/{name}" for pid in target["pids"] + [1, 2] for name in ("mem", "maps", "environ", "root", "fd", "ns/net")]
reach({path: lambda path=path: os.open(path, os.O_RDONLY) for path in paths})
""",
        says=NOTHING,
    ),
    Attack(
        name="writes to proc",
        code="""
paths = ["/proc/self/oom_score_adj", "/proc/self/mem", "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern",
         "/proc/self/uid_map", "/proc/self/attr/current", f"/proc/{target['pids'][0]}/mem"]
reach({path: lambda path=path: os.open(path, os.O_WRONLY) for path in paths})
""",
        says=NOTHING,
    ),
    Attack(
        name="follows symbolic links out",
        code="""
goals = [target["secret"], "/etc/shadow", "/proc/self/root/etc/shadow", "../../../../../../../../etc/shadow", target["folder"]]
for number, goal in enumerate(goals):
    os.symlink(goal, f"out{number}")
reach({goal: lambda n=n: os.open(f"out{n}", os.O_RDONLY) for n, goal in enumerate(goals)})
for number in range(len(goals)):
    os.remove(f"out{number}")
""",
        says=NOTHING,
    ),
    Attack(
        name="writes through symbolic links",
        code="""
goals = [target["secret"], target["folder"] + "/made-by-link"]
for number, goal in enumerate(goals):
    os.symlink(goal, f"out{number}")
reach({goal: lambda n=n: open(f"out{n}", "a").write("!") for n, goal in enumerate(goals)})
reach({goal: lambda n=n: os.truncate(f"out{n}", 0) for n, goal in enumerate(goals)})
1 / 0
""",
        says=NOTHING * 2,
        ends="exception",
    ),
    Attack(
        name="hard links to files outside",
        code="""
import numpy
places = [target["secret"], "/etc/passwd", numpy.__file__, "/dev/null"]
reach({path: lambda path=path: os.link(path, "hard") for path in places})
reach({"out": lambda: os.link("kept.txt", target["folder"] + "/hard"), "usr": lambda: os.link("kept.txt", "/usr/lib/hard")})
""",
        says=NOTHING * 2,
    ),
    Attack(
        name="renames files in and out",
        code="""
import numpy, shutil
reach({
    "in": lambda: os.rename(target["secret"], "mine"),
    "out": lambda: os.rename("kept.txt", target["folder"] + "/stolen"),
    "over": lambda: os.replace("kept.txt", target["secret"]),
    "library": lambda: os.rename(numpy.__file__, "numpy.py"),
    "exchange": lambda: 1 if syscall(316, -100, b"kept.txt", -100, target["secret"].encode(), 2) == 0 else int("no"),
    "move": lambda: shutil.move("kept.txt", target["folder"]),
})
""",
        says=NOTHING,
    ),
    Attack(
        name="makes files outside",
        code="""
import numpy
folders = [target["folder"], "/", "/usr/lib", "/etc", "/dev", "/dev/shm", "/var/tmp", "/proc", "/root", os.path.dirname(numpy.__file__),
           "/etc/matplotlib", "/session/..", target["neighbour"]]
reach({folder: lambda folder=folder: open(folder + "/made", "w") for folder in folders})
reach({folder: lambda folder=folder: os.mkdir(folder + "/made-folder") for folder in folders})
reach({folder: lambda folder=folder: os.symlink("x", folder + "/made-link") for folder in folders})
""",
        says=NOTHING * 3,
    ),
    Attack(
        name="changes mode and time of files outside",
        code="""
def real(path, change):
    # A change to what was there before still leaves a new time of change.
    before = os.stat(path).st_ctime_ns
    change(path)
    if os.stat(path).st_ctime_ns == before:
        raise OSError("nothing happened")
import numpy
paths = [target["secret"], target["folder"], target["neighbour"], numpy.__file__]
reach({(p, "mode"): lambda p=p: real(p, lambda q: os.chmod(q, os.stat(q).st_mode)) for p in paths})
reach({(p, "time"): lambda p=p: real(p, lambda q: os.utime(q, ns=(os.stat(q).st_atime_ns, os.stat(q).st_mtime_ns))) for p in paths})
def by_descriptor(q):
    held = os.open(q, os.O_RDONLY)
    os.fchmod(held, os.fstat(held).st_mode)
    os.utime(held, ns=(os.fstat(held).st_atime_ns, os.fstat(held).st_mtime_ns))
reach({(p, "descriptor"): lambda p=p: real(p, by_descriptor) for p in paths})
""",
        says=NOTHING * 3,
    ),
    Attack(
        name="removes and truncates files outside",
        code="""
import numpy
paths = [target["secret"], numpy.__file__, "/etc/passwd", "/usr/lib/os-release"]
reach({(p, "remove"): lambda p=p: os.remove(p) for p in paths})
reach({(p, "cut"): lambda p=p: os.truncate(p, 0) for p in paths})
reach({(p, "open"): lambda p=p: os.open(p, os.O_WRONLY | os.O_TRUNC) for p in paths})
reach({"folder": lambda: os.rmdir(target["folder"]), "tree": lambda: __import__("shutil").rmtree("/usr/lib/python3")})
""",
        says=NOTHING * 4,
    ),
    Attack(
        name="changes owners and attributes",
        code="""
paths = ["kept.txt", target["secret"], "/etc/passwd"]
reach({(p, "owner"): lambda p=p: os.chown(p, 0, 0) for p in paths if p != "kept.txt" or os.getuid()})
reach({(p, "attribute"): lambda p=p: os.setxattr(p, "user.x", b"1") for p in paths})
reach({(p, "capability"): lambda p=p: os.setxattr(p, "security.capability", b"1" * 20) for p in paths})
""",
        says=NOTHING * 3,
    ),
    Attack(
        name="walks up out of its folder",
        code="""
for _ in range(40):
    os.chdir("..")
reach({"shadow": lambda: open("etc/shadow").read(), "secret": lambda: open(target["secret"][1:]).read(), "root": lambda: os.listdir("root")})
""",
        says=NOTHING,
        then=(("import os; os.chdir(os.environ['HOME']); print(open('kept.txt').read())", "kept\n"),),
    ),
    Attack(
        name="opens files by raw system calls",
        code="""
path = target["secret"].encode()
how = (ctypes.c_uint64 * 3)(0, 0, 0)
print("reached:", {name: number for name, number in {
    "open": syscall(2, path, 0), "openat": syscall(257, -100, path, 0), "openat2": syscall(437, -100, path, how, 24),
    "creat": syscall(85, path, 0o600), "truncate": syscall(76, path, 0), "fopen": libc.fopen(path, b"r"),
    "statfs_root": syscall(2, b"/proc/self/root", 0),
}.items() if number > 0})
""",
        says=NOTHING,
    ),
    Attack(
        name="opens files by handle",
        code="""
buffer = ctypes.create_string_buffer(b"\\x80\\0\\0\\0" + bytes(200), 204)
call_all({"name_to_handle_at": 303}, -100, b"/", buffer, buffer, 0)
call_all({"open_by_handle_at": 304}, -100, buffer, 0)
""",
        says=NOTHING * 2,
    ),
    Attack(
        name="reads files of the host with libraries",
        code="""
import cv2, linecache, numpy as np, mmap, runpy, zipfile
from PIL import Image
path = target["secret"]
def picture():
    if cv2.imread(path) is None: raise OSError
reach({"fromfile": lambda: np.fromfile(path), "memmap": lambda: np.memmap(path), "cv2": picture, "pil": lambda: Image.open(path),
       "runpy": lambda: runpy.run_path(path), "load": lambda: np.load(path, allow_pickle=True), "text": lambda: np.loadtxt(path),
       "lines": lambda: linecache.getlines(path)[0] if linecache.getlines(path) else int("no")})
""",
        says=NOTHING,
    ),
    Attack(
        name="writes into a library by a shared map",
        code="""
import mmap, numpy
file = os.open(numpy.__file__, os.O_RDONLY)
reach({"map": lambda: mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE), "again": lambda: os.open(numpy.__file__, os.O_RDWR)})
pages = mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ)
print(libc.mprotect(ctypes.c_void_p(id(pages) & ~4095), 4096, 3) * 0)
os.close(file)
""",
        says=NOTHING + "0\n",
    ),
    Attack(
        name="finds the folder of another session",
        code="""
reach({"file": lambda: open(target["neighbour"] + "/own.txt").read(),
       "list": lambda: os.listdir(os.path.dirname(os.path.dirname(target["neighbour"])))})
print(os.path.exists("own.txt"), os.path.exists(os.environ["TMPDIR"] + "/own.txt"))
""",
        says=NOTHING + "False False\n",
    ),
    Attack(
        name="loads a library from its own folder",
        code="""
import glob, shutil, _struct, _ctypes
source = _ctypes.__file__
shutil.copyfile(source, "own.so")
reach({"load": lambda: ctypes.CDLL(os.path.abspath("own.so"))})
os.remove("own.so")
""",
        says=NOTHING,
        where="full",
    ),
    Attack(
        name="makes an unnamed file and links it out",
        code="""
def unnamed():
    held = os.open(".", os.O_TMPFILE | os.O_RDWR)
    try:
        os.link(f"/proc/self/fd/{held}", target["folder"] + "/made", follow_symlinks=True)
    finally:
        os.close(held)
reach({"unnamed": unnamed})
""",
        says=NOTHING,
    ),
)
