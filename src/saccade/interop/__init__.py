"""Saccade's tools and environments for the programs of others: MCP, OpenEnv, TRL, Ray Serve.

``mcp/`` is tools over the Model Context Protocol, in both directions; ``openenv/`` serves environments, ``trl/`` gives
them to TRL's ``GRPOTrainer``; ``ray_serve.py`` runs the tool server on a Ray cluster.
"""
