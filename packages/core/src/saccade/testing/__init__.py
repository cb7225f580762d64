"""Tools for tests, yours too: a scripted engine and teachers, tiny tasks, conformance checks of every interface."""

from pkgutil import extend_path

from saccade.testing.chat_server import ChatServer, chat_reply
from saccade.testing.environment_check import check_environment
from saccade.testing.protocol_check import check_protocol
from saccade.testing.reward_check import check_reward
from saccade.testing.scripted import SampleRequest, ScriptedEngine, ScriptedTeacher, letter_chat
from saccade.testing.tasks import TINY_VIEW, tiny_example
from saccade.testing.tool_check import check_tool

__path__ = extend_path(__path__, __name__)

__all__ = [
    "TINY_VIEW",
    "ChatServer",
    "SampleRequest",
    "ScriptedEngine",
    "ScriptedTeacher",
    "chat_reply",
    "check_environment",
    "check_protocol",
    "check_reward",
    "check_tool",
    "letter_chat",
    "tiny_example",
]
