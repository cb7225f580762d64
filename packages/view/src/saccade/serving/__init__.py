"""A policy with its tools behind the chat interface that other programs speak: one request is one episode, or ``n``.

Start at ``app``, which has the routes. ``questions`` reads what is asked, ``pictures`` its images within limits,
``agent`` plays it at an engine that all requests share, ``replies`` writes what came of it, ``traces`` keeps the
trajectories for a while, ``server`` is all of it from start to end.
"""

from saccade.serving.agent import EngineAgent
from saccade.serving.server import serve_agent
from saccade.serving.settings import AgentServerSettings

__all__ = ["AgentServerSettings", "EngineAgent", "serve_agent"]
