"""A server of the Model Context Protocol that is not ours, as a process: written with fastmcp alone."""

import os
import sys
import time
from pathlib import Path
from typing import Literal

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.types import Image as McpImage
from pydantic import BaseModel

server = FastMCP("small")


class Filter(BaseModel):
    kind: Literal["sharp", "soft"]
    sizes: list[int]


@server.tool
def add(a: int, b: int = 1) -> str:
    """Add two whole numbers.

    They may be negative.
    """
    return str(a + b)


@server.tool
def apply(filters: list[Filter], note: str | None = None) -> dict[str, object]:
    """Apply filters."""
    return {"count": len(filters), "note": note}


@server.tool
def size_of(picture: str) -> str:
    """Tell the size of a picture."""
    assert picture.startswith("data:image/png;base64,")
    return f"{len(picture)} characters"


@server.tool(output_schema=None)
def red_dot() -> list[object]:
    """Draw a red dot."""
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), (255, 0, 0)).save(buffer, format="PNG")
    return ["a dot", McpImage(data=buffer.getvalue(), format="png")]


@server.tool(output_schema=None)
def broken_picture() -> list[object]:
    """Give a picture that is none."""
    return [McpImage(data=b"no picture", format="png")]


@server.tool
def refuse() -> str:
    """Always refuse."""
    raise ToolError("there is nothing to see")


@server.tool
def sleep(seconds: float) -> str:
    """Wait."""
    time.sleep(seconds)
    return "awake"


@server.tool
async def seize() -> str:
    """Hold the whole server up."""
    time.sleep(1000)
    return "never"


@server.tool
def die(once: str = "") -> str:
    """End the process of the server, or only if a file is not there yet, which it writes."""
    if once and Path(once).exists():
        return f"alive after {Path(once).read_text()}"
    if once:
        Path(once).write_text("one death")
    os._exit(3)


@server.tool
def process() -> str:
    """Tell the number of the process."""
    return str(os.getpid())


if __name__ == "__main__":
    print("this goes to standard error and disturbs nobody", file=sys.stderr)
    if len(sys.argv) > 1:
        server.run(transport="http", port=int(sys.argv[1]), show_banner=False, log_level="ERROR", stateless_http=True)
    else:
        server.run(show_banner=False, log_level="CRITICAL")
