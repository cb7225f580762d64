"""What code cannot reach or use up, tried."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from saccade.sandbox import Isolation, Limits, Sandbox, Session

ESCAPES = {
    "read the host's accounts": "print(open('/etc/shadow').read())",
    "list the root": "assert 'root' not in os.listdir('/root')",
    "read its process's files": "print(open('/proc/self/environ').read())",
    "read another's memory": "open('/proc/1/mem', 'rb').read(1)",
    "read the kernel's settings": "os.listdir('/sys/kernel')",
    "write among the libraries": "open(os.__file__, 'a').write('#')",
    "write to the root": "open('/x', 'w')",
    "write to /etc": "open('/etc/passwd', 'w')",
    "open a device": "open('/dev/mem', 'rb')",
    "make a device": "os.mknod('sda', 0o60600, os.makedev(8, 0))",
    "make a pipe with a name": "os.mkfifo('pipe')",
    "fork": "os.fork()",
    "start a program": "__import__('subprocess').run(['/bin/true'])",
    "replace itself": "os.execv('/bin/sh', ['sh', '-c', 'true'])",
    "start a shell": "assert os.system('true') == 0",
    "start processes for work": "__import__('multiprocessing').Pool(1)",
    "open a socket": "__import__('socket').socket()",
    "open a local socket": "__import__('socket').socket(1)",
    "open a raw pair": "__import__('socket').socketpair(2)",
    "kill its keeper": "os.kill(os.getppid(), 9)",
    "kill the first process": "os.kill(1, 9)",
    "kill itself": "os.kill(os.getpid(), 9)",
    "kill everyone": "os.kill(-1, 9)",
    "raise a limit": "r = __import__('resource'); r.setrlimit(r.RLIMIT_CPU, (-1, -1))",
    "become root": "os.setuid(0)",
    "change the root": "os.chroot('/')",
    "change the host's name": "__import__('socket').sethostname('x')",
    "change its priority": "os.nice(-5)",
    "make memory that is not counted": "os.memfd_create('x')",
    "sign up for a signal": "fc = __import__('fcntl'); fc.fcntl(0, fc.F_SETOWN, os.getpid())",
    "make a large pipe": "fc = __import__('fcntl'); fc.fcntl(os.pipe()[0], fc.F_SETPIPE_SZ, 1 << 20)",
    "set an attribute": "os.setxattr('input_image.png', 'user.x', b'y')",
    "pidfd": "os.pidfd_open(os.getpid())",
}


@pytest.mark.parametrize("escape", ESCAPES)
def test_code_cannot(confined: Session, escape: str) -> None:
    assert confined.run("import os\nmark = 1").ok
    result = confined.run(f"import os\n{ESCAPES[escape]}")
    assert result.error is not None
    assert result.error.kind == "exception"
    assert confined.run("mark").stdout == "1\n"


def test_system_calls_by_number_are_refused(confined: Session) -> None:
    # ptrace, mount, unshare, setns, process_vm_readv, bpf, perf_event_open, io_uring_setup, shmget, keyctl, vfork,
    # kexec_load, userfaultfd, memfd_create, pidfd_getfd, tgkill, process_madvise, open_by_handle_at, reboot.
    if os.uname().machine != "x86_64":
        pytest.skip("numbers of x86-64")
    numbers = [101, 165, 272, 308, 310, 321, 298, 425, 29, 250, 58, 246, 323, 319, 438, 234, 440, 304, 169]
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
[(libc.syscall(number, 0, 0, 0, 0, 0, 0), ctypes.get_errno()) for number in {numbers}]
"""
    assert confined.run(code).stdout == repr([(-1, 1)] * len(numbers)) + "\n"
    namespaces = "[(libc.syscall(56, flags, 0, 0, 0, 0), ctypes.get_errno()) for flags in (0x10000011, 17, 0x8011)]"
    assert confined.run(namespaces).stdout == repr([(-1, 1)] * 3) + "\n"
    assert confined.run("libc.syscall(0x40000000 + 39), libc.syscall(435, 0, 0), ctypes.get_errno()").stdout == (
        "(-1, -1, 38)\n"
    )


@pytest.mark.parametrize("package", ["saccade", "saccade.tasks.procedural", "pytest"])
def test_what_code_may_not_use_is_not_there(confined: Session, package: str) -> None:
    error = confined.run(f"import {package}").error
    assert error is not None
    assert error.name == "ModuleNotFoundError"


def test_a_session_sees_no_file_of_the_host(session: Session, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    assert session.run(f"import os; os.path.exists({str(secret)!r})").stdout == "False\n"
    assert session.run(f"os.path.exists({__file__!r}), os.path.exists('/root/.bashrc')").stdout == "(False, False)\n"


def test_restricted_code_sees_no_content_of_the_host(restricted: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    secret.chmod(0o777)
    with restricted.session() as session, restricted.session() as other:
        for mode in ("r", "w", "a"):
            error = session.run(f"open({str(secret)!r}, {mode!r})").error
            assert error is not None
            assert error.name == "PermissionError"
        theirs = other.run("import os; os.getcwd()").stdout.strip()
        error = session.run(f"import os; os.listdir({theirs})").error
        assert error is not None
        assert error.name == "PermissionError"
    assert secret.read_text() == "secret"


def test_the_trainers_environment_and_descriptors_do_not_reach_a_session(sandbox: Sandbox, session: Session) -> None:
    known = "{'PYTEST_CURRENT_TEST', 'SHELL', 'VIRTUAL_ENV'}"
    assert session.run(f"import os; sorted(set(os.environ) & {known})").stdout == "[]\n"
    code = """
import os
found = []
for number in range(4096):
    try:
        os.fstat(number)
        found.append(number)
    except OSError:
        pass
found
"""
    assert session.run(code).stdout == "[0, 1, 2, 100, 101, 102, 103, 104, 105]\n"


def test_a_listener_on_the_hosts_loopback_is_out_of_reach(session: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not session.run(f"import socket; socket.create_connection(('127.0.0.1', {port}), 1)").ok


BOMBS = {
    "memory": "hoard = []\nwhile True: hoard.append(bytearray(1 << 24))",
    "shared memory": "import mmap\nhoard = [mmap.mmap(-1, 1 << 28) for _ in range(99)]",
    "a large file": "open('f', 'wb').write(bytes(1 << 27))",
    "a file with holes": "open('f', 'wb').truncate(1 << 40)",
    "many holes": "for n in range(9): open(f'f{n}', 'wb').truncate(60 << 20)",
    "many files": "for n in range(9000): open(f'f{n}', 'w').close()",
    "many descriptors": "hoard = [open('input_image.png') for _ in range(9999)]",
    "many threads": "import threading as t, time\nfor _ in range(9999): t.Thread(target=time.sleep, args=(9,)).start()",
    "output": "while True: print('x' * 100000)",
    "recursion": "def f(): f()\nf()",
    "a deep stack": "import sys\nsys.setrecursionlimit(1 << 30)\ndef f(x): return f([x])\nf(1)",
    "a large number": "x = 10 ** 10 ** 10",
    "a picture bomb": "from PIL import Image\nImage.new('RGB', (1 << 16, 1 << 15))",
    "a processor": "import threading\ndef f():\n    while 1: 0\nfor _ in '123': threading.Thread(None, f).start()\nf()",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_fails_its_run_and_nothing_else(session: Session, bomb: str) -> None:
    assert session.run("mark = 1").ok
    assert not session.run(BOMBS[bomb], timeout_s=2.0).ok
    assert session.run("import os; mark, os.listdir('.')").stdout == "(1, ['input_image.png'])\n"


def test_processor_time_is_limited_over_all_threads() -> None:
    with Sandbox(limits=Limits(cpu_s=1.0)) as sandbox, sandbox.session() as session:
        error = session.run("while True: pass", timeout_s=30).error
        assert error is not None
        assert (error.kind, error.message) == ("timeout", "the code took more than 1 s of processor time")
        assert session.run("1 + 1").stdout == "2\n"


@pytest.mark.parametrize("isolation", ["full", "restricted"])
def test_a_run_that_used_most_of_its_processor_time_leaves_a_session_that_lasts(isolation: Isolation) -> None:
    """The state forks for every run that fails, which takes time of its own."""
    with Sandbox(isolation=isolation, limits=Limits(cpu_s=1.0)) as sandbox, sandbox.session() as session:
        assert session.run("import random, time\nrandom.seed(3); a = random.random()\nrandom.seed(3)").ok
        assert session.run("while time.process_time() < 0.6: pass\nmark = 1").ok
        for _ in range(100):
            error = session.run("1 / 0").error
            assert error is not None
            assert error.kind == "exception"
        assert session.run("mark, random.random() == a").stdout == "(1, True)\n"


FORGE = """
import json, os, socket
channel = socket.socket(fileno=os.dup(103))
for message in (b'', b'[' * 60000, b'{"kind": 3}', b'{"kind": "gone", "status": 0}', b'{"kind": "hi"}',
                b'{"kind": "image", "width": 99999999999, "height": 1, "start": -5}',
                b'{"kind": "image", "width": 8, "height": 8, "start": 1000000000000}', b'{"kind": "moved"}'):
    channel.send(message)
"""


def test_messages_forged_to_the_keeper_do_no_harm(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        result = session.run(FORGE)
        assert result.ok
        assert result.images == ()
        assert session.run("1").stdout == "1\n"


def test_a_run_that_lies_about_its_end_is_taken_back(sandbox: Sandbox) -> None:
    with sandbox.session() as session, sandbox.session() as other:
        assert session.run("mark = 1").ok
        lie = "mark = 2\nopen('lie.txt', 'w').close()\nchannel.send(b'{\"kind\": \"done\"}')\nwhile True: pass"
        assert session.run(FORGE + lie).ok
        assert other.run("2").stdout == "2\n"
        error = session.run("1").error
        assert error is not None
        assert error.message.startswith("the last run left an interpreter that cannot go on, so it was taken back")
        assert session.run("import os; mark, os.listdir()").stdout == "(1, [])\n"


def test_what_a_run_does_to_forks_and_signals_does_not_reach_the_next_run(session: Session) -> None:
    for spoil in (
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); signal.signal(signal.SIGCONT, lambda *_: 1 / 0)",
        "import ctypes; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)",
        "import os; os.fork = os.wait4 = os.pread = lambda *_: 0",
        "import os; os.register_at_fork(before=lambda: os._exit(1))",
        "import os; os.set_blocking(103, False)",
        "import sys; sys.stdout.detach()",
    ):
        session.run(f"mark = 1\n{spoil}")
        assert session.run("mark").stdout == "1\n"
        assert session.run("1 / 0").error is not None
        assert session.run("mark").stdout == "1\n"


def test_a_run_that_is_stopped_for_long_does_not_hold_up_others(sandbox: Sandbox) -> None:
    async def main() -> None:
        async with sandbox.open_session() as slow, sandbox.open_session() as quick:
            run = asyncio.create_task(slow.run_async("import time; time.sleep(3600)", timeout_s=3600))
            await asyncio.sleep(0.2)
            assert (await quick.run_async("1")).ok
            assert not run.done()
            run.cancel()
            await asyncio.wait([run])

    asyncio.run(main())


def test_descriptors_cannot_be_sent(confined: Session) -> None:
    # Those under way are counted over all sessions.
    send = "import socket\nnear, far = socket.socketpair()\nsocket.send_fds(near, [b'x'], [0])"
    error = confined.run(send).error
    assert error is not None
    assert error.name == "PermissionError"
