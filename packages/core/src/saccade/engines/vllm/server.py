"""vLLM's server as a process of ours: started, watched, started again when it ends, and ended with us."""

import json
import logging
import os
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import torch
from PIL import Image

from saccade.engines.engine import EngineContext
from saccade.engines.vllm.environment import VllmEnvironment, find_environment
from saccade.engines.vllm.settings import VllmSettings
from saccade.errors import MachineError
from saccade.plain_files import plain_text

logger = logging.getLogger(__name__)

SERVED_AS = "saccade"
"""The model's name in chat requests."""

READY_WITHIN_S = 900.0
LOOK_S = 0.5
END_WITHIN_S = 20.0
STARTS_IN_A_ROW = 4
"""So many that ended before they answered, one after the other, will not get better."""
SHOWN_LINES = 15
IMAGES_AT_MOST = 256
"""In one sequence; vLLM refuses a sequence with more."""
BLOCK_TOKENS = 32
"""Of the prefix cache on a CPU, where the default is 128: short prompts would never be found again."""
LONGEST = 8192
OWNED_FOLDER = "SACCADE_VLLM_FOLDER"
"""Variable that tells ``saccade_vllm_plugin.serve`` which folder to delete."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSettings:
    """How a server is started."""

    model: Path
    dtype: str = "auto"
    max_model_len: int = LONGEST
    kv_cache_mib: int = 256
    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free one."""
    threads: int = 1
    """On a CPU."""
    further: Sequence[str] = field(default=())

    def arguments(self, environment: VllmEnvironment, port: int) -> list[str]:
        """Those of vLLM's server. What an engine of Saccade relies on is here, not in a user's hands."""
        said = {
            "model": str(self.model.absolute()),
            "served-model-name": SERVED_AS,
            "host": self.host,
            "port": str(port),
            "dtype": self.dtype,
            "max-model-len": str(self.max_model_len),
            "limit-mm-per-prompt": json.dumps({"image": IMAGES_AT_MOST, "video": 0}),
            "logprobs-mode": "processed_logprobs",
            "generation-config": "vllm",
            "weight-transfer-config": json.dumps({"backend": "file"}),
            "worker-extension-cls": "saccade_vllm_plugin.worker.SaccadeWorker",
            "seed": "0",
        }
        flags = ["enable-scale-out", "no-mm-device-do-normalize", "skip-mm-profiling"]
        if environment.is_cpu:
            said |= {"kv-cache-memory-bytes": str(self.kv_cache_mib << 20), "block-size": str(BLOCK_TOKENS)}
            flags.append("enforce-eager")
        words = [word for name, value in said.items() for word in (f"--{name}", value)]
        return [*words, *(f"--{flag}" for flag in flags), *self.further]


class VllmServer:
    """A server at one address for as long as this object is open, in one process after the other."""

    def __init__(
        self, environment: VllmEnvironment, settings: ServerSettings, log: Path, *, owned: Path | None = None
    ) -> None:
        """Starts it; ``wait_ready`` waits until it answers. All that it prints is added to ``log``.

        ``owned`` is a folder that the server deletes when this process ends without ``close``.
        """
        self._environment = environment
        self._owned = {} if owned is None else {OWNED_FOLDER: str(owned)}
        self._settings = settings
        self._port = settings.port or _free_port(settings.host)
        self._log = log
        self._closing = threading.Event()
        self._ready = threading.Event()
        self._failure: str | None = None
        self.starts = 0
        """Processes so far; more than one means that some have ended."""
        self._restarts: deque[str] = deque()
        self.process: subprocess.Popen[bytes] = self._spawn()
        self._watcher = threading.Thread(target=self._watch, name="saccade-vllm", daemon=True)
        self._watcher.start()

    @property
    def url(self) -> str:
        return f"http://{self._settings.host}:{self._port}"

    @property
    def is_ready(self) -> bool:
        """Whether it answers, as far as is known."""
        return self._ready.is_set()

    def wait_ready(self) -> None:
        """Returns when it answers; MachineError with the end of its log when it will not."""
        until_s = time.monotonic() + READY_WITHIN_S
        while not self._ready.wait(LOOK_S):
            self.check()
            if time.monotonic() > until_s:
                raise MachineError(f"vLLM does not answer after {READY_WITHIN_S:.0f} s{self._last_words()}")

    def check(self) -> None:
        """MachineError when it will not be started again."""
        if self._failure is not None:
            raise MachineError(self._failure)

    def take_restarts(self) -> list[str]:
        """Processes that have ended and were replaced since this was last called, in words."""
        return [self._restarts.popleft() for _ in range(len(self._restarts))]

    def close(self) -> None:
        """Ends it with all its processes."""
        self._closing.set()
        self._end()
        self._watcher.join()

    def _spawn(self) -> "subprocess.Popen[bytes]":
        self.starts += 1
        self._log.parent.mkdir(parents=True, exist_ok=True)
        command = [str(self._environment.python), "-m", "saccade_vllm_plugin.serve"]
        command += self._settings.arguments(self._environment, self._port)
        with self._log.open("ab") as log:
            log.write(f"--- start {self.starts}: {' '.join(command)}\n".encode())
            log.flush()
            return subprocess.Popen(
                command,
                # It ends when this pipe closes, also when we are killed.
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment.variables(self._settings.threads) | self._owned,
                start_new_session=True,
            )

    def _watch(self) -> None:
        failed = 0
        while not self._closing.is_set():
            has_answered = self._is_answering()
            if self.process.poll() is None:
                if has_answered and not self._ready.is_set():
                    failed = 0
                    self._ready.set()
                self._closing.wait(LOOK_S)
                continue
            failed = failed if self._ready.is_set() else failed + 1
            self._ready.clear()
            self._end()
            if failed >= (1 if self.starts == 1 else STARTS_IN_A_ROW):
                self._failure = f"vLLM ended with status {self.process.returncode}{self._last_words()}"
                return
            if not self._closing.is_set():
                self._restarts.append(
                    f"vLLM at {self.url} ended with status {self.process.returncode}; another one starts"
                )
                logger.warning("%s", self._restarts[-1])
                self.process = self._spawn()

    def _is_answering(self) -> bool:
        """Asked until it is ready; afterwards its process tells."""
        if self._ready.is_set():
            return True
        with suppress(httpx2.HTTPError):
            return httpx2.get(f"{self.url}/health", timeout=5.0, trust_env=False).status_code == 200
        return False

    def _end(self) -> None:
        """Also what it left behind: a worker that outlives its server keeps the memory."""
        for kind in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, kind)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(END_WITHIN_S)
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()

    def _last_words(self) -> str:
        lines = self._log.read_bytes().decode(errors="replace").splitlines() if self._log.is_file() else []
        return f"; the end of {self._log}:\n" + "\n".join(line[:300] for line in lines[-SHOWN_LINES:])


def started_for(context: EngineContext, settings: VllmSettings, folder: Path, *, logs: Path | None) -> VllmServer:
    """A server for a run's policy; the checkpoint that it loads is written into ``folder``."""
    environment = find_environment(settings.python)
    model = folder / "model"
    context.model.save_base(model)
    _let_vllm_resize(model)
    return VllmServer(
        environment,
        ServerSettings(
            model=model,
            dtype=str(context.model.dtype).removeprefix("torch."),
            max_model_len=settings.max_model_len or min(context.model.longest_sequence or LONGEST, LONGEST),
            kv_cache_mib=settings.kv_cache_mib,
            threads=torch.get_num_threads(),
            further=settings.further_arguments(),
        ),
        (logs or folder) / "vllm.log",
        owned=folder,
    )


def _let_vllm_resize(model: Path) -> None:
    """At its start vLLM tries the checkpoint's processor, and its back end cannot average over boxes as tiny models do.

    What the engine shows is resized here, so nothing depends on it.
    """
    file = model / "preprocessor_config.json"
    config = json.loads(plain_text(file))
    if config.get("resample") == Image.Resampling.BOX:
        file.write_text(json.dumps({**config, "resample": int(Image.Resampling.BICUBIC)}), encoding="utf-8")


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port
