"""Functions run by several ranks at once, in processes of their own on this machine, for tests of sharded learning."""

import multiprocessing
import os
import pickle
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

from saccade.learner.processes import Company, join_company
from saccade.learner.sharding import Wrap

T = TypeVar("T")

# A fresh process that has imported torch and run nothing: torch's autograd cannot go on in the fork of one that has.
FRESH = multiprocessing.get_context("forkserver")
FRESH.set_forkserver_preload(
    [
        "saccade.testing.ranks",
        "saccade.train.run",
        "saccade.train.following",
        "peft",
        "torch.utils.tensorboard",
        "pytest",
    ]
)


def in_ranks(
    count: int, function: Callable[[Company], T], *, wrap: Wrap = "layers", timeout_s: float = 900.0
) -> list[T | BaseException]:
    """What the function, one of a module, gives or raises in each of ``count`` ranks.

    TimeoutError when they are not done within ``timeout_s``; none of them is left then.
    """
    with tempfile.TemporaryDirectory() as directory:
        files = [Path(directory) / str(rank) for rank in range(count)]
        port = _free_port()
        processes = [
            FRESH.Process(target=_rank, args=(rank, count, port, function, wrap, file))
            for rank, file in enumerate(files)
        ]
        for process in processes:
            process.start()
        until_s = time.monotonic() + timeout_s
        try:
            for process in processes:
                process.join(max(0.0, until_s - time.monotonic()))
            if any(process.is_alive() for process in processes):
                raise TimeoutError(f"{count} ranks were not done after {timeout_s} s")
        finally:
            for process in processes:
                process.kill()
                process.join()
        return [
            pickle.loads(file.read_bytes()) if file.exists() else ChildProcessError(f"ended with {process.exitcode}")
            for process, file in zip(processes, files)
        ]


def _rank(rank: int, count: int, port: int, function: Callable[[Company], object], wrap: Wrap, result: Path) -> None:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    given: object
    try:
        with join_company(wrap=wrap, timeout_s=300.0, device="cpu") as company:
            given = function(company)
    except BaseException as error:
        given = error
    unfinished = result.with_suffix(".part")
    unfinished.write_bytes(pickle.dumps(given))
    unfinished.rename(result)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
