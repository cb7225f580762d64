"""Saccade post-trains vision-language models to think with images."""

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
