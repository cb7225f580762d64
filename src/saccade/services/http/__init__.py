"""The tool server's HTTP side: routes, limits, uploads, origins."""
