"""Models that answer in texts: servers, checkpoints and scripts behind one shape, ``ChatModel``.

Start with ``connect``, the one factory. A run that needs such a model names it in its ``Resources``, which are open
while it goes on; judges are in ``saccade.rewards.judges``. ``openai_chat.py`` is the client of servers,
``local_chat.py`` the checkpoint in this process, ``vision_chat.py`` the shape that tools and plain functions ask.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.chat.chat_model import ChatCounts as ChatCounts
    from saccade.chat.chat_model import ChatMeter as ChatMeter
    from saccade.chat.chat_model import ChatModel as ChatModel
    from saccade.chat.chat_model import ChatServerSettings as ChatServerSettings
    from saccade.chat.chat_model import ConnectedChat as ConnectedChat
    from saccade.chat.chat_model import check_up as check_up
    from saccade.chat.chat_model import connect as connect
    from saccade.chat.resources import Resources as Resources
    from saccade.chat.wire import RefusedRequestError as RefusedRequestError
else:
    __getattr__, __dir__ = names_on_use(__name__)
