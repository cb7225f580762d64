# ruff: noqa: E501  The code of the attacks is data.
"""Rights that a session does not have."""

from hostile.attack import NOTHING, Attack

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
