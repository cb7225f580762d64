"""Saccade post-trains vision-language models to think with images."""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.geometry import Box as Box
    from saccade.geometry import Point as Point
    from saccade.types import Answer as Answer
    from saccade.types import Group as Group
    from saccade.types import Malformed as Malformed
    from saccade.types import Score as Score
    from saccade.types import Task as Task
    from saccade.types import Term as Term
    from saccade.types import ToolCall as ToolCall
    from saccade.types import ToolResult as ToolResult
    from saccade.types import Trajectory as Trajectory
    from saccade.types import Turn as Turn
else:
    __getattr__, __dir__ = names_on_use(__name__)

__version__ = "0.1.0"
