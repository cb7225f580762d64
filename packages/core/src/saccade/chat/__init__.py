"""Models that answer in texts: servers, checkpoints and scripts behind one shape, ``ChatModel``.

Start with ``connect``, the one factory. A run that needs such a model names it in its ``Resources``, which are open
while it goes on; judges are in ``saccade.rewards.judges``. ``openai_chat.py`` is the client of servers,
``local_chat.py`` the checkpoint in this process, ``vision_chat.py`` the shape that tools and plain functions ask.
"""

from saccade.chat.chat_model import ChatCounts, ChatModel, ChatServerSettings, ConnectedChat, check_up, connect
from saccade.chat.resources import ChatMeter, Resources
from saccade.chat.wire import RefusedRequestError

__all__ = [
    "ChatCounts",
    "ChatMeter",
    "ChatModel",
    "ChatServerSettings",
    "ConnectedChat",
    "RefusedRequestError",
    "Resources",
    "check_up",
    "connect",
]
