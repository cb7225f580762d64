# ruff: noqa: E501  The code of the attacks is data.
"""Devices and other processes."""

from hostile.attack import NOTHING, Attack

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
        name="makes a device by a rename that leaves one",
        code="""
import platform
number = 276 if platform.machine() == "aarch64" else 316
reach({flags: lambda flags=flags: int("no") if syscall(number, -100, b"kept.txt", -100, b"moved", flags) < 0 else 1 for flags in (4, 5, 6, 8)})
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
