"""Settings of vLLM as an engine: a matter of the machine, not of the recipe."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from saccade.codec.bounds import Bounds, Positive, check_bounds
from saccade.errors import UserError

PYTHON_VARIABLE = "SACCADE_VLLM_PYTHON"


@dataclass(frozen=True, kw_only=True, slots=True)
class VllmSettings:
    """Where vLLM runs and how long it may be silent."""

    urls: tuple[str, ...] = ()
    """Servers that run already (``saccade engine serve``), each a replica; without any, one is started for the run."""
    python: Path | None = None
    """The Python of the environment that has vLLM; by default the value of the variable SACCADE_VLLM_PYTHON."""
    folder: Path | None = None
    """Folder for handing over weights, on a disk that the servers see too. By default one in memory."""
    max_model_len: Annotated[int, Bounds(least=2)] | None = None
    """Tokens of the longest trajectory that a started server must take; None is the plan's longest."""
    kv_cache_mib: Positive = 256
    """KV-cache memory of a server that is started on a CPU; on a GPU vLLM takes what it finds."""
    arguments: str = ""
    """Further arguments of a server that is started, as in ``--tensor-parallel-size 2``."""
    patience_s: Annotated[float, Bounds(above=0)] = 900.0
    """How long a turn waits for a server that is gone; it may have to be started and loaded again."""
    timeout_s: Annotated[float, Bounds(above=0)] = 600.0
    """Silence after which a server that has taken a request counts as hung, and is restarted."""

    def check(self) -> None:
        for url in self.urls:
            if not url.startswith(("http://", "https://")):
                raise UserError(
                    f"urls has {url!r}, which is no address of a server; it looks like http://127.0.0.1:8000"
                )
        if len(set(self.urls)) < len(self.urls):
            raise UserError(f"urls names a server twice ({', '.join(self.urls)}); name each once")
        check_bounds(self)
        self.further_arguments()

    def further_arguments(self) -> list[str]:
        """``arguments`` as a shell would cut them; raises UserError."""
        try:
            return shlex.split(self.arguments)
        except ValueError as error:
            raise UserError(f"arguments={self.arguments!r} cannot be split as a shell would ({error})") from error
