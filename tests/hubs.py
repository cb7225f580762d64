"""One hub for all tests of a process, with one address and one cache: processes begin with imports that read both."""

import json
import os
import shutil
import sys
import tempfile
from functools import cached_property
from pathlib import Path

from saccade.testing.hub_server import FakeHub
from warm import MODELS, TORCH, run_warm

COMMANDS = """
import contextlib, io, json, os, sys
from saccade.cli import run_command
told = []
for token, command in json.loads(sys.argv[1]):
    os.environ.pop("HF_TOKEN", None)
    if token:
        os.environ["HF_TOKEN"] = token
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = run_command(command)
    told.append([status, out.getvalue()])
print(json.dumps(told))
"""
"""Runs commands of ours, each with its token, and prints status and words of each."""


class SharedHub(FakeHub):
    """A hub that knows one who writes and one who reads; the cache of its clients is ``home``."""

    def __init__(self) -> None:
        super().__init__({"hf_writes": ("me", True), "hf_reads": ("me", False)})
        self._folder = tempfile.TemporaryDirectory(prefix="hub-")
        self.home = Path(self._folder.name) / "home"

    def __exit__(self, *of: object) -> None:
        super().__exit__(*of)
        self._folder.cleanup()

    @cached_property
    def environment(self) -> dict[str, str]:
        known = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING"))}
        quiet = {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        return {**known, **quiet, "HF_ENDPOINT": self.state.url, "HF_HOME": str(self.home)}

    def empty(self) -> None:
        self.state.repos.clear()
        self.state.blobs.clear()
        self.asked.clear()
        self.cuts.clear()
        self.forget()

    def forget(self) -> None:
        """The cache of its clients is empty."""
        shutil.rmtree(self.home, ignore_errors=True)

    def run(self, code: str, folder: Path, *arguments: str, **others: str) -> str:
        """What a client's code prints, run in the folder. Other variables than the hub's take seconds of imports."""
        env = {**self.environment, **others}
        imported, began_in = (TORCH, None) if others else (MODELS, self.environment)
        command = [sys.executable, "-c", code, *arguments]
        done = run_warm(command, imported=imported, began_in=began_in, env=env, cwd=folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def told_by(self, folder: Path, *commands: tuple[str, list[str]], **others: str) -> list[tuple[int, str]]:
        """Status and words of commands of ours, each with its token."""
        told = json.loads(self.run(COMMANDS, folder, json.dumps(commands), **others).splitlines()[-1])
        return [(status, said) for status, said in told]
