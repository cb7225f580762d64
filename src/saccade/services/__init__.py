"""Tools as services: a server with resident models and its client, also over the Model Context Protocol."""
