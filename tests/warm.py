"""Processes of Python that begin with the heavy imports made: forks of one process that has imported torch and models.

Importing torch and transformers takes seconds of processor time in each new process. ``WarmProcess`` is a
``subprocess.Popen`` whose process skips them; it is for tests that are about what a process does, and not about how
Python starts. Hash seeds and what libraries read from the environment on import are those of the first process.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
import types
from functools import cache
from pathlib import Path
from typing import Any

MODELS = ("saccade.miniature.tiny_model", "saccade.learner.learner", "saccade.engines.local", "saccade.cli.train")
"""What a process that trains or samples imports."""
TORCH = ("torch._dynamo", "torch.distributed.tensor", "scipy.optimize", "PIL.Image")
"""What transformers imports, for processes in which the Hugging Face libraries must read their settings themselves."""
SERVICES = ("saccade.cli.serve", "saccade.services.http.server", "saccade.services.workers.running")
"""What a server of tools imports."""
TOOLS = ("saccade.interop.mcp.server", "saccade.interop.mcp.serving", "saccade.tools.images")
"""What a server of tools by the Model Context Protocol imports."""
VIEWER = ("saccade.cli.view", "saccade.viewer.app.server", "saccade.runs.directory")
"""What the viewer imports, and a run that does nothing but write."""
_SUBREAPER = 36
_TIMEOUT_S = 900.0
_STARTING = threading.Lock()


class WarmProcess(subprocess.Popen[Any]):
    """A process of ``[sys.executable, "-m" or "-c" or a script, ...]``, a child of this one, with imports made."""

    def __init__(
        self,
        command: list[str],
        *,
        imported: tuple[str, ...] = MODELS,
        began_in: dict[str, str] | None = None,
        **options: Any,
    ) -> None:
        """``began_in`` is the environment that the imports read, by default that of the tests."""
        self._imported, self._began_in = imported, None if began_in is None else tuple(sorted(began_in.items()))
        super().__init__(command, **options)

    def _execute_child(self, command: list[str], *handed: Any) -> None:
        """Starts the process; ``subprocess`` calls it with pipes made."""
        _, preexec, _, passed, cwd, env, *_, is_shell = handed[:9]
        pipes, is_new_session = handed[9:15], handed[20]
        assert command[0] == sys.executable
        assert not preexec
        assert not is_shell
        own = [end if end != -1 else standard for standard, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        asked = {
            "arguments": command[1:],
            "cwd": os.fspath(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "descriptors": [0, 1, 2, *passed],
            "new_session": bool(is_new_session),
        }
        packed = json.dumps(asked).encode()
        with _STARTING:
            connection = _first_process(self._imported, self._began_in)
            # The fork's parent ends at once, and so the fork becomes a child of this process.
            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(connection, [len(packed).to_bytes(8)], [*own, *passed])
                connection.sendall(packed)
                self.pid = int.from_bytes(_exactly(connection, 8))
            finally:
                ctypes.CDLL(None).prctl(_SUBREAPER, 0, 0, 0, 0)
        self._child_created = True
        self._close_pipe_fds(*pipes)


def run_warm(
    command: list[str],
    *,
    imported: tuple[str, ...] = MODELS,
    began_in: dict[str, str] | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """What ``subprocess.run(command, capture_output=True, text=True)`` gives, of a warm process."""
    pipe = subprocess.PIPE
    with WarmProcess(
        command, imported=imported, began_in=began_in, stdout=pipe, stderr=pipe, text=True, **options
    ) as process:
        try:
            out, err = process.communicate(timeout=_TIMEOUT_S)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


@cache
def _first_process(imported: tuple[str, ...], began_in: tuple[tuple[str, str], ...] | None) -> socket.socket:
    """The connection to a process that has made the imports, and ends with this one."""
    here, there = socket.socketpair()
    with there:
        process = subprocess.Popen(
            [sys.executable, __file__, str(there.fileno()), *imported],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[there.fileno()],
            env=None if began_in is None else dict(began_in),
        )

    def end() -> None:
        here.close()
        process.wait()

    atexit.register(end)
    return here


def _exactly(connection: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        more = connection.recv(count - len(read))
        if not more:
            raise EOFError("the process with the imports has ended")
        read += more
    return read


def _serve(connection: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Forks a process for each request; gives it its request, and None to the first process at the end."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(connection, 8, 64)
        if not head:
            return None
        head += _exactly(connection, 8 - len(head)) if len(head) < 8 else b""
        asked = json.loads(_exactly(connection, int.from_bytes(head)))
        (told, tell), (wait, go) = os.pipe(), os.pipe()
        between = os.fork()
        if between == 0:
            child = os.fork()
            if child:
                os.write(tell, child.to_bytes(8))
                os._exit(0)
            os.close(go)
            os.read(wait, 1)  # Until the process between is gone.
            for end in (told, tell, wait):
                os.close(end)
            connection.close()
            return asked, descriptors
        child = int.from_bytes(os.read(told, 8))
        os.waitpid(between, 0)
        for end in (told, tell, wait, go, *descriptors):
            os.close(end)
        connection.sendall(child.to_bytes(8))


def _become(asked: dict[str, Any], descriptors: list[int]) -> None:
    """Makes this process what a new one would be: its descriptors, environment, folder and paths."""
    if asked["new_session"]:
        os.setsid()
    high = [os.dup2(one, 900 + place, inheritable=False) for place, one in enumerate(descriptors)]
    for one in descriptors:
        os.close(one)
    for one, wanted in zip(high, asked["descriptors"], strict=True):
        os.dup2(one, wanted)
        os.close(one)
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    added = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    sys.path[:] = [*added, *(one for one in sys.path[1:] if one not in before)]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through="PYTHONUNBUFFERED" in os.environ)  # type: ignore[union-attr]


def _run(arguments: list[str]) -> None:
    """The program of ``python arguments``."""
    first, *others = arguments
    if first == "-m":
        sys.path.insert(0, str(Path.cwd()))
        sys.argv[:] = others
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.path.insert(0, "")
        sys.argv[:] = ["-c", *others[1:]]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(others[0], "<string>", "exec"), main.__dict__)
    else:
        sys.path.insert(0, str(Path(first).resolve().parent))
        sys.argv[:] = arguments
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    gc.disable()
    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.enable()
    gc.freeze()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:
        _become(*request)
        _run(request[0]["arguments"])
