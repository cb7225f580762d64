"""Saccade's tools and environments for the programs of others: MCP, OpenEnv, TRL, Ray Serve, LlamaIndex.

``mcp/`` is tools over the Model Context Protocol, in both directions; ``openenv/`` serves environments, ``trl/`` gives
them to TRL's ``GRPOTrainer``; ``hub.py`` fetches from a Hugging Face hub and publishes there; ``ray_serve.py`` runs the
tool server on a Ray cluster, ``llama_index.py`` is a retriever over a page index.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
