"""The tools of the service benchmarks, and a server with them in a process of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Annotated, Self

from PIL import Image, ImageStat

from saccade.errors import UserError
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.images import crop
from saccade.tools.tool import Tool, ToolOutput, tool_from


def echo(text: Annotated[str, "what to say"]) -> str:
    """Say a text."""
    return text


def mean_colour(image: Image.Image, salt: Annotated[int, "told back"]) -> ToolOutput:
    """Tell the mean colour of an image."""
    red, green, blue = (round(value, 3) for value in ImageStat.Stat(image).mean)
    return ToolOutput(text=f"{red} {green} {blue}", data={"salt": salt, "width": image.width})


def build(settings: ToolSettings, folder: Path) -> Tool:
    """A tool of this file, or a crop, by its name."""
    for function in (echo, crop, mean_colour):
        if function.__name__ == settings.name:
            return tool_from(function)
    raise UserError(f"there is no tool {settings.name}")


def write_tools_file(*, workers: int, server: str = "") -> Path:
    """A configuration with all of them, in a temporary file."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False) as file:
        file.write(
            f'[server]\nport = 0\nworkers = {workers}\nlog = "events"\n{server}'
            'builder = "services_tools:build"\n[tools.echo]\n[tools.crop]\n[tools.mean_colour]\n'
        )
    return Path(file.name)


class ServedTools:
    """``saccade serve`` while it is entered."""

    def __init__(self, tools_file: Path) -> None:
        self._tools_file = tools_file
        self.log: list[dict[str, object]] = []

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        here = str(Path(__file__).parent)
        paths = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "saccade", "serve", str(self._tools_file)],
            env={**os.environ, "PYTHONPATH": paths},
            stderr=subprocess.PIPE,
            text=True,
        )
        found = threading.Event()
        threading.Thread(target=self._read, args=(found,), daemon=True).start()
        assert found.wait(60), "the server has not started"
        return self

    def _read(self, found: threading.Event) -> None:
        assert self._process.stderr is not None
        for text in self._process.stderr:
            with contextlib.suppress(ValueError):
                line = json.loads(text)
                self.log.append(line)
                if line["message"] == "serving":
                    self.url = f"http://127.0.0.1:{line['port']}"
                    found.set()

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(60) == 0
        self._tools_file.unlink()
