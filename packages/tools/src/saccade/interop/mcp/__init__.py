"""Tools over the Model Context Protocol, in both directions.

``client.py`` makes the tools of any MCP server ours; ``server.py`` offers ours, ``serving.py`` runs it.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.interop.mcp.client import McpTools as McpTools
    from saccade.interop.mcp.server import mcp_server as mcp_server
    from saccade.interop.mcp.serving import serve_http as serve_http
    from saccade.interop.mcp.serving import serve_stdio as serve_stdio
else:
    __getattr__, __dir__ = names_on_use(__name__)
