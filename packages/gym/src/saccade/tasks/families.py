"""What procedural families are written with: functions that draw a task from a generator and a difficulty.

A ``Scene`` is a drawn picture with its questions, ``knob`` turns the difficulty into a size or a count,
``rectangle_target`` and ``look_box`` say where the answer is, ``crop_turn`` is an expert's look at it.
"""

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
