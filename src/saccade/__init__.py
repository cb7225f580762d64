"""Saccade post-trains vision-language models to think with images."""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.geometry import Box, Point
    from saccade.types import (
        Answer,
        Group,
        Malformed,
        Score,
        Task,
        Term,
        ToolCall,
        ToolResult,
        Trajectory,
        Turn,
    )
else:
    __getattr__, __dir__ = names_on_use(__name__)

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Box",
    "Group",
    "Malformed",
    "Point",
    "Score",
    "Task",
    "Term",
    "ToolCall",
    "ToolResult",
    "Trajectory",
    "Turn",
]
