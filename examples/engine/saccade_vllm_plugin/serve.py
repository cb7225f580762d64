"""vLLM's server of the OpenAI interface, which ends with whoever started it.

    python -m saccade_vllm_plugin.serve --model DIR --port 8000 ...

The process that starts it holds its standard input open. When that closes, however that process ended, all that was
started here ends. This process must be the leader of a process group. It only watches: the server is its child, so that
what a server leaves behind when it ends, its engine core and workers, is ended as well.

With SACCADE_VLLM_FOLDER in the environment, that folder, which the process that starts it has made, is deleted then.
"""

import os
import runpy
import select
import shutil
import signal
import sys

GRACE_S = 10.0
OWNED_FOLDER = "SACCADE_VLLM_FOLDER"


def _watch(server: int) -> int:
    """The server's exit status once it has ended; does not return when standard input closes first."""
    # Signals to the group are for the server; what it makes of them is told by its status.
    for kind in (signal.SIGTERM, signal.SIGINT):
        signal.signal(kind, signal.SIG_IGN)
    ended = os.pidfd_open(server)
    while True:
        told, _, _ = select.select([0, ended], [], [])
        if ended in told:
            return os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
        if not os.read(0, 1024):
            os.kill(server, signal.SIGTERM)
            select.select([ended], [], [], GRACE_S)
            if folder := os.environ.get(OWNED_FOLDER):
                shutil.rmtree(folder, ignore_errors=True)
            os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    if server := os.fork():
        status = _watch(server)
        sys.exit(status if status >= 0 else 128 - status)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv[0] = "saccade-vllm"
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__", alter_sys=True)
