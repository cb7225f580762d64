"""A framework in a process of its own, so that memory and threads are not shared."""

import multiprocessing
import os
import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Literal

from saccade.bench.workload import BenchSpec, FrameworkName, PeerFailed, PeerReply, Ready, StepReport
from saccade.errors import MachineError
from saccade.heartbeat import phase

_GRACE_S = 20.0
_PROCESSES = multiprocessing.get_context("spawn")


class PeerProcess:
    """The driver's end of one framework's process."""

    def __init__(self, framework: FrameworkName, connection: "Connection[Literal['step', 'stop'], PeerReply]") -> None:
        self.framework = framework
        self._connection = connection

    def ready(self) -> Ready:
        """Waits until the framework has loaded the model."""
        with phase(lambda: f"{self.framework} loads the model"):
            answer = self._answer()
        if not isinstance(answer, Ready):
            raise MachineError(f"{self.framework} reported a step before it was ready")
        return answer

    def step(self) -> StepReport:
        """Lets the framework take one step and waits for its report."""
        self._connection.send("step")
        with phase(lambda: f"{self.framework} takes a step"):
            answer = self._answer()
        if not isinstance(answer, StepReport):
            raise MachineError(f"{self.framework} reported no step")
        return answer

    def _answer(self) -> PeerReply:
        try:
            answer = self._connection.recv()
        except EOFError as error:
            raise MachineError(
                f"the process of {self.framework} ended without a message; did it run out of memory?"
            ) from error
        if isinstance(answer, PeerFailed):
            raise MachineError(f"{self.framework} failed in the benchmark:\n{answer.why}")
        return answer


@contextmanager
def running_worker(framework: FrameworkName, spec: BenchSpec) -> Iterator[PeerProcess]:
    """A worker whose process ends with the block."""
    here, there = _PROCESSES.Pipe()
    process = _PROCESSES.Process(target=_work, args=(framework, spec, there), daemon=True)
    process.start()
    there.close()
    try:
        yield PeerProcess(framework, here)
    finally:
        _stop(here)
        process.join(_GRACE_S)
        if process.is_alive():
            process.terminate()
            process.join()


def _stop(connection: "Connection[Literal['step', 'stop'], PeerReply]") -> None:
    try:
        connection.send("stop")
    except OSError:
        return  # It has ended by itself, or by an error that was already told.


def _work(
    framework: FrameworkName, spec: BenchSpec, connection: "Connection[PeerReply, Literal['step', 'stop']]"
) -> None:
    # The driver decides when the benchmark ends, also at Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        _serve(framework, spec, connection)
    except Exception:
        connection.send(PeerFailed(why=traceback.format_exc(limit=-4)))


def _serve(
    framework: FrameworkName, spec: BenchSpec, connection: "Connection[PeerReply, Literal['step', 'stop']]"
) -> None:
    # Here and not above: each process loads its own framework alone, and not before it is measured.
    import torch
    from transformers.utils import logging as transformers_logging

    torch.set_num_threads(spec.threads)
    torch.set_float32_matmul_precision(spec.matmul_precision)
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    if framework == "saccade":
        from saccade.bench.ours import serve
    elif framework == "plain":
        from saccade.bench.plain_side import serve
    else:
        from saccade.bench.trl_side import serve
    serve(spec, connection)
