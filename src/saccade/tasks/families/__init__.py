"""Procedural families: functions that draw a task from a generator and a difficulty, in a module for each figure.

What they are written with is offered here: a ``Scene`` is a drawn picture with its questions, ``knob`` turns the
difficulty into a size or a count, ``rectangle_target`` and ``look_box`` say where the answer is, ``crop_turn`` is an
expert's look at it.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.tasks.scene import (
        FamilyFunction,
        Scene,
        SceneQuestion,
        crop_turn,
        knob,
        look_box,
        pick,
        rectangle_target,
    )
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "FamilyFunction",
    "Scene",
    "SceneQuestion",
    "crop_turn",
    "knob",
    "look_box",
    "pick",
    "rectangle_target",
]
