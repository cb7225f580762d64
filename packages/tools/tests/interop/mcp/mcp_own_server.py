"""Our own server as a process: on stdio, or on HTTP at the port that is named. ``break`` and ``linger`` misbehave."""

import sys
import time
from pathlib import Path

from PIL import Image

from saccade.interop.mcp.images import ReceivedImages
from saccade.interop.mcp.server import mcp_server
from saccade.interop.mcp.serving import serve_http, serve_stdio
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import tool_from


def broken(image: Image.Image) -> str:
    """Break."""
    raise ConnectionError("a wire came loose")


def linger(seconds: float) -> str:
    """Wait, although there is little time."""
    time.sleep(seconds)
    return "done"


if __name__ == "__main__":
    tools = (*IMAGE_TOOLS, tool_from(broken), tool_from(linger, deadline_s=0.3))
    port, folders = int(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]]
    server = mcp_server(tools, images=ReceivedImages(folders=folders))
    if port:
        serve_http(server, host="127.0.0.1", port=port, token="secret")
    else:
        serve_stdio(server)
