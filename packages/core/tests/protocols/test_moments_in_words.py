"""Moments in words, lists and minutes are moments; so are those that a model reads where the rules find none."""

import asyncio
from dataclasses import replace

import pytest

from saccade.errors import MachineError
from saccade.protocols.moments import FrameMention, find_moments
from saccade.rewards.argos import ModelMoments
from saccade.rewards.argos.moment_reader import read_moments
from saccade.rewards.hack_check import drawn_videos
from saccade.testing import ScriptedTeacher


@pytest.mark.parametrize(
    ("text", "frames", "segments"),
    [
        ("At 0:02 a ball.", [(None, 2.0)], []),
        ("The third frame has a ball.", [(3, None)], []),
        ("frame five shows it", [(5, None)], []),
        ("In frames 1, 2 and 5 a ball.", [(1, None), (2, None), (5, None)], []),
        ("at second 4 it jumps", [(None, 4.0)], []),
        ("Seconds 4 to 6 show it.", [], [(None, None, 4.0, 6.0)]),
        ("from 0:04 to 1:06 it runs", [], [(None, None, 4.0, 66.0)]),
        ("frames one to three", [], [(1, 3, None, None)]),
        ("[F1 @ 0s, F2 @ 0.8s, F3 @ 1.6s] it jumps", [], [(1, 3, None, None)]),
        ("a ratio of 3:10", [], []),
        ("In the second image for 3 seconds 4 dogs run", [], []),
    ],
)
def test_moments_in_words(text: str, frames: list[object], segments: list[object]) -> None:
    found = find_moments(text)
    assert [(one.frame, one.time_s) for one in found.frames] == frames
    assert [(one.start_frame, one.end_frame, one.start_time, one.end_time) for one in found.segments] == segments


def test_a_model_reads_the_moments_that_rules_do_not_find() -> None:
    [task, *_] = drawn_videos(2)
    reply = '```json\n{"frames": [{"frame": 2, "time": null, "description": "a  ball"}], "segments": []}\n```'
    teacher = ScriptedTeacher(reply=lambda messages: reply)
    found = asyncio.run(ModelMoments(model=teacher)(task, "Near the beginning there is a ball."))
    assert found.frames == (FrameMention(description="a ball", frame=2),)
    broken = replace(ModelMoments(model=ScriptedTeacher(reply=lambda messages: "no")), tries=2)
    with pytest.raises(MachineError, match="no moments can be read from 2 replies"):
        asyncio.run(broken(task, "Near the beginning there is a ball."))


@pytest.mark.parametrize("reply", ["", "[]", '{"frames": 3}', '{"frames": ["x"]}', "[" * 5000, "NaN"])
def test_a_reply_that_lists_no_moments_is_none(reply: str) -> None:
    assert read_moments(reply) is None
