# ruff: noqa: E501  The code of the attacks is data.
"""Attempts to get at something outside the session."""

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
print(sorted(os.listdir("/session")), [name for name in ("bin", "boot", "home", "opt", "run", "sbin", "srv", "sys") if os.path.exists("/" + name)])
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

DEVICES = (
    Attack(
        name="makes device nodes",
        code="""
import stat
reach({"zero": lambda: os.mknod("zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5)), "disk": lambda: os.mknod("disk", 0o666 | stat.S_IFBLK, os.makedev(8, 0)),
       "fifo": lambda: os.mkfifo("fifo"), "socket": lambda: os.mknod("sock", 0o666 | stat.S_IFSOCK)})
""",
        says=NOTHING,
    ),
    Attack(
        name="opens devices",
        code="""
names = "mem kmem port kmsg sda vda tty console ptmx kvm fuse loop-control loop0 net/tun userfaultfd vhost-vsock autofs hpet shm/x"
reach({name: lambda name=name: os.open("/dev/" + name, os.O_RDONLY) for name in names.split()})
""",
        says=NOTHING,
    ),
    Attack(
        name="types into a terminal",
        code="""
import fcntl
reach({(fd, hex(number)): lambda fd=fd, number=number: fcntl.ioctl(fd, number, b"x" * 64)
       for fd in (0, 1, 2, *range(100, 106)) for number in (0x5412, 0x541D, 0x540E, 0x5414, 0x8901, 0x8902, 0x5452, 0x8910, 0xC0502100)})
""",
        says=NOTHING,
    ),
)

PROCESSES = (
    Attack(
        name="sends signals to everybody",
        code="""
import signal
pids = [0, -1, 1, 2, os.getpid(), os.getppid(), -os.getpid(), *target["pids"]]
reach({(pid, number): lambda pid=pid, number=number: os.kill(pid, number) for pid in pids for number in (0, 9, 15, 18, 19)})
reach({"group": lambda: os.killpg(0, 9), "raise": lambda: signal.raise_signal(signal.SIGSTOP),
       "thread": lambda: signal.pthread_kill(__import__("threading").get_ident(), signal.SIGKILL)})
numbers = {"kill": 62, "tkill": 200, "tgkill": 234, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "pidfd_send_signal": 424}
call_all(numbers, os.getppid(), 9, 0, 0)
""",
        says=NOTHING * 3,
    ),
    Attack(
        name="reads and writes memory of other processes",
        code="""
here = ctypes.create_string_buffer(64)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(here), 64)
for pid in (os.getppid(), 1, *target["pids"]):
    call_all({"process_vm_readv": 310, "process_vm_writev": 311}, pid, vector, 1, vector, 1, 0)
    call_all({"ptrace": 101}, 16, pid, 0, 0)
    call_all({"ptrace": 101}, 0x4206, pid, 0, 0)
    call_all({"pidfd_open": 434, "kcmp": 312, "process_madvise": 440, "move_pages": 279, "migrate_pages": 256}, pid, 0, 0, 0)
call_all({"pidfd_getfd": 438, "process_mrelease": 448}, 103, 0, 0)
""",
    ),
    Attack(
        name="enters and makes namespaces",
        code="""
for flags in (0x00020000, 0x10000000, 0x20000000, 0x40000000, 0x7E020000, 0x80, 0x02000000):
    call_all({"unshare": 272}, flags)
    call_all({"setns": 308}, 103, flags)
""",
    ),
    Attack(
        name="mounts and changes the root",
        code="""
call_all({"mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
          "open_tree": 428, "move_mount": 429, "mount_setattr": 442, "swapon": 167, "swapoff": 168, "acct": 163, "statmount": 457,
          "listmount": 458}, b"/", b"/", b"tmpfs", 0, 0)
reach({"chroot": lambda: os.chroot(".")})
""",
        says=NOTHING * 2,
    ),
    Attack(
        name="starts programs",
        code="""
import pty, subprocess
reach({
    "execv": lambda: os.execv("/usr/lib/ld-linux.so", ["x"]), "subprocess": lambda: subprocess.run(["/bin/true"]),
    "python": lambda: subprocess.run([__import__("sys").executable, "-c", "1"]), "spawn": lambda: os.posix_spawn("/bin/sh", ["sh"], {}),
    "popen": lambda: os.popen("id").read(), "pty": lambda: pty.fork(),
})
print(os.system("true") != 0, libc.system(b"true") != 0)
call_all({"execve": 59, "execveat": 322}, b"/lib64/ld-linux-x86-64.so.2", 0, 0, 0, 0)
""",
        says=NOTHING + "True True\n" + NOTHING,
    ),
    Attack(
        name="runs a program from memory",
        code="""
call_all({"memfd_create": 319, "memfd_secret": 447, "execveat": 322}, b"x", 0, 0, 0, 0x1000)
reach({"create": lambda: os.memfd_create("x")})
os.pwrite(105, b"#!/bin/sh\\n", 0)
call_all({"fexecve": 322}, 105, b"", 0, 0, 0x1000)
""",
        says=NOTHING * 3,
    ),
    Attack(
        name="forks in every way",
        code="""
reach({"fork": os.fork, "forkpty": os.forkpty})
print(libc.fork(), syscall(57), syscall(58))
flags = {"exactly": 0x01200011, "none": 17, "vm": 0x100 | 17, "vfork": 0x4100 | 17, "parent": 0x8000 | 17, "untraced": 0x800000 | 17,
         "files": 0x400 | 17, "newpid": 0x20000000 | 17, "newuser": 0x10000000 | 17, "zero": 0, "high": (1 << 40) | 17, "pidfd": 0x1000 | 17}
print("reached:", {name: a for name, a in ((n, syscall(56, f, 0, 0, 0, 0)) for n, f in flags.items()) if a != -errno.EPERM})
arguments = (ctypes.c_uint64 * 11)(0, 0, 0, 0, 17)
print(syscall(435, arguments, 88) == -errno.ENOSYS)
""",
        says=NOTHING + "-1 -1 -1\n" + NOTHING + "True\n",
    ),
    Attack(
        name="uses multiprocessing",
        code="""
import concurrent.futures, multiprocessing
from multiprocessing import shared_memory
def pool():
    with concurrent.futures.ProcessPoolExecutor(2) as made:
        return list(made.map(abs, [1]))
reach({"process": lambda: multiprocessing.Process(target=print).start(), "pool": pool, "lock": lambda: multiprocessing.Lock(),
       "memory": lambda: shared_memory.SharedMemory(create=True, size=4096), "queue": lambda: multiprocessing.Queue()})
""",
        says=NOTHING,
    ),
    Attack(
        name="uses numbers of another system call table",
        code="""
numbers = [39, 57, 59, 62, 101, 165, 512, 520, 521, 530, 545]
print({n: syscall(0x40000000 | n, 0, 0, 0, 0, 0, 0) for n in numbers if syscall(0x40000000 | n, 0, 0, 0, 0, 0, 0) not in (-errno.ENOSYS, -errno.EPERM)})
""",
        says="{}\n",
    ),
    Attack(
        name="enters the kernel by interrupt 0x80",
        code="""
import mmap
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
page.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
print(ctypes.CFUNCTYPE(ctypes.c_int)(address)())
""",
        ends="killed",
    ),
    Attack(
        name="waits for children that are not its own",
        code="""
reach({"any": lambda: os.waitpid(-1, os.WNOHANG), "one": lambda: os.waitpid(1, os.WNOHANG), "parent": lambda: os.waitpid(os.getppid(), os.WNOHANG)})
print(libc.wait(None))
""",
        says=NOTHING + "-1\n",
    ),
)

PRIVILEGES = (
    Attack(
        name="becomes somebody else",
        code="""
reach({"uid": lambda: os.setuid(0), "gid": lambda: os.setgid(0), "res": lambda: os.setresuid(0, 0, 0), "groups": lambda: os.setgroups([0]),
       "sid": os.setsid, "pgid": lambda: os.setpgid(0, 0)})
call_all({"setuid": 105, "setfsuid": 122, "setfsgid": 123, "capset": 126, "setresuid": 117, "setregid": 114, "personality": 135}, 0, 0, 0)
""",
        says=NOTHING * 2,
    ),
    Attack(
        name="asks what it may",
        code="""
PR_GET_NO_NEW_PRIVS, PR_GET_DUMPABLE, PR_GET_SECCOMP = 39, 3, 21
print(libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
      libc.prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), libc.prctl(PR_GET_SECCOMP, 0, 0, 0, 0))
""",
        says="1 0 2\n",
    ),
    Attack(
        name="asks what it may by capget",
        code="""
head = (ctypes.c_uint32 * 2)(0x20080522, 0)
sets = (ctypes.c_uint32 * 6)()
answer = syscall(125, head, sets)
print(answer in (0, -1), sum(sets))
""",
        says="True 0\n",
    ),
    Attack(
        name="changes the way that it is kept in",
        code="""
for option in (4, 8, 22, 24, 26, 28, 29, 33, 35, 36, 38, 40, 41, 43, 47, 53, 55, 56, 57, 58, 59, 62, 0x59616D61, 0x41555856):
    call_all({f"prctl {option}": 157}, option, 1, 0, 0, 0)
call_all({"seccomp": 317, "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446}, 0, 0, 0)
""",
    ),
    Attack(
        name="raises limits",
        code="""
import resource
kinds = [getattr(resource, n) for n in dir(resource) if n.startswith("RLIMIT_")]
reach({k: lambda k=k: resource.setrlimit(k, (resource.getrlimit(k)[1],) * 2) for k in kinds})
reach({(k, pid): lambda k=k, pid=pid: resource.prlimit(pid, k, (0, 0)) for k in kinds for pid in (0, 1, os.getppid(), *target["pids"])})
print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_MEMLOCK))
""",
        says=NOTHING * 2 + "(0, 0) (0, 0)\n",
    ),
    Attack(
        name="changes how it is scheduled",
        code="""
reach({"nice": lambda: os.nice(-5), "nicer": lambda: os.nice(1), "affinity": lambda: os.sched_setaffinity(0, {0}), "real": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
       "priority": lambda: os.setpriority(0, 0, 5), "parent": lambda: os.sched_setaffinity(os.getppid(), {0})})
call_all({"ioprio_set": 251, "sched_setattr": 314, "mlock": 149, "mlockall": 151, "mlock2": 325}, 0, 0, 0)
""",
        says=NOTHING * 2,
    ),
    Attack(
        name="makes calls that nobody needs",
        code="""
call_all({"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
    "keyctl": 250, "add_key": 248, "request_key": 249, "fanotify_init": 300, "inotify_init": 253, "inotify_init1": 294, "quotactl": 179,
    "reboot": 169, "sethostname": 170, "setdomainname": 171, "init_module": 175, "finit_module": 313, "delete_module": 176,
    "kexec_load": 246, "kexec_file_load": 320, "iopl": 172, "ioperm": 173, "syslog": 103, "sysfs": 139, "uselib": 134, "ustat": 136,
    "clock_settime": 227, "settimeofday": 164, "adjtimex": 159, "clock_adjtime": 305, "timer_create": 222, "vhangup": 153,
    "modify_ldt": 154, "set_mempolicy": 238, "mbind": 237, "remap_file_pages": 216, "lookup_dcookie": 212, "splice": 275, "tee": 276,
    "vmsplice": 278, "sync": 162, "syncfs": 306, "signalfd": 282, "signalfd4": 289, "cachestat": 451, "map_shadow_stack": 453,
    "mseal": 462, "pkey_alloc": 330, "lsm_set_self_attr": 460, "setxattrat": 463}, 0, 0, 0, 0, 0, 0)
""",
        says=NOTHING,
    ),
    Attack(
        name="makes System V and POSIX message objects",
        code="""
call_all({"shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "msgget": 68, "msgsnd": 69, "mq_open": 240, "mq_unlink": 241}, 0, 4096, 0o1666, 0)
""",
        says=NOTHING,
    ),
    Attack(
        name="asks for signals by descriptor",
        code="""
import fcntl
F_SETOWN, F_SETSIG, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ, F_ADD_SEALS, F_SETOWN_EX, F_SET_RW_HINT = 8, 10, 1024, 1026, 1031, 1033, 15, 1036
r, w = os.pipe()
reach({(fd, op): lambda fd=fd, op=op: fcntl.fcntl(fd, op, 1) for fd in (r, w, 101, 103, 104, 105)
       for op in (F_SETOWN, F_SETSIG, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ, F_ADD_SEALS, F_SETOWN_EX, F_SET_RW_HINT)})
os.close(r); os.close(w)
""",
        says=NOTHING,
    ),
    Attack(
        name="calls every forbidden number",
        code="""
answers = {n: syscall(n, -1, -1, -1, -1, -1, -1) for n in [*range(467, 700), *range(337, 424)]}
print({n: a for n, a in answers.items() if a not in (-errno.EPERM, -errno.ENOSYS)})
""",
        says="{}\n",
    ),
)

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
         "VECLIB_MAXIMUM_NUM_THREADS", "LD_LIBRARY_PATH",  "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8"}
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

ESCAPES = FILES + DEVICES + PROCESSES + PRIVILEGES + INHERITANCE + NETWORK
