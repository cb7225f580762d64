"""Fuzzes every tool of the catalogue; what became of the calls goes to a JSON file.

    python benchmarks/tool_fuzz.py --calls 10000 --json studies/services/tool_fuzz.json

Models are tiny checkpoints with random weights and a server on loopback, so that only wiring and checks are tested.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from PIL import Image, ImageDraw

from saccade.testing.chat_server import ChatServer, expert_reply
from saccade.testing.tiny_specialists import example_picture, write_tools_file
from saccade.testing.tool_check import FuzzedTool, fuzz
from saccade.tools.catalogue.catalogue import entry_of, toolset
from saccade.tools.catalogue.settings import read_tools_file


def odd_pictures() -> list[Image.Image]:
    """Small, thin, blank and noisy."""
    drawn = Image.new("RGB", (64, 64), "white")
    ImageDraw.Draw(drawn).rectangle((10, 10, 50, 40), outline="black")
    blank = [Image.new("RGB", size, "white") for size in ((1, 1), (3, 40), (300, 4), (48, 48))]
    return [*blank, Image.effect_noise((48, 48), 80).convert("RGB"), drawn]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of tools")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ChatServer(expert_reply) as server:
        made = toolset(read_tools_file(write_tools_file(Path(folder), server.url)))
        tools = [
            FuzzedTool(
                tool=tool,
                example=entry_of(tool.name).example,
                pictures=[example_picture(entry_of(tool.name)), *odd_pictures()],
            )
            for tool in made.ready
            if not arguments.only or tool.name in arguments.only
        ]
        report = fuzz(tools, arguments.calls, seed=arguments.seed)
    result = {
        "command": f"python benchmarks/tool_fuzz.py --calls {arguments.calls} --seed {arguments.seed}",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "seconds": round(time.monotonic() - started),
        "tools": len(tools),
        "left_out": dict(made.left_out),
        **report.as_json(),
    }
    text = json.dumps(result, indent=2)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
