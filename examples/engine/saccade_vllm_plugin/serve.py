"""vLLM's server of the OpenAI interface, which ends with whoever started it.

    python -m saccade_vllm_plugin.serve --model DIR --port 8000 ...

The process that starts it holds its standard input open. When that closes, however that process ended, this one ends
with all that it started; it must be the leader of a process group.
"""

import os
import runpy
import signal
import sys
import threading
import time

GRACE_S = 10.0


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv[0] = "saccade-vllm"
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__", alter_sys=True)
