"""A policy behind another server plays with our tools: its texts come from there, its calls are run here."""

import asyncio

import pytest
from PIL import Image

from saccade.envs.visual_reasoning import DEFAULT_VIEW
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.protocols import tagged_protocol
from saccade.rollout import EpisodeSpec, RolloutRequest, RolloutSettings
from saccade.serving.agent import RequestSampling
from saccade.serving.chat_agent import ChatAgent
from saccade.testing.scripted import ScriptedTeacher
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.types import Task

CALL = '<think>closer</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 500]}}</tool_call>'


def played(sampled):
    media = MediaStore()
    image = media.add(Image.new("RGB", (64, 48), "red"))
    task = Task(id="t", family="served", question="Which?", answer="", answer_kind="text", images=(image,))
    spec = EpisodeSpec(
        protocol=tagged_protocol(style="brief"), tools=(tool_from(crop),), rollout=RolloutSettings(), max_turns=3
    )
    teacher = ScriptedTeacher(
        reply=lambda messages: "<think>b</think><answer>rows</answer>" if len(messages) > 2 else CALL
    )
    turns = []
    agent = ChatAgent(teacher, spec, DEFAULT_VIEW)
    request = RolloutRequest(task=task, stream="served", sample=0, seed=1)
    try:
        one = asyncio.run(agent.play(request, media, sampled, max_reply_tokens=None, on_turn=turns.append))
    finally:
        agent.close()
    return one, turns


def test_an_episode_of_a_chat_model_calls_tools_and_answers():
    one, turns = played(RequestSampling(temperature=0.5))
    assert one.answer == "rows"
    assert [turn.result is not None for turn in turns] == [True, False]


def test_sampling_that_the_other_server_is_not_asked_with_is_refused():
    with pytest.raises(UserError, match="leave them out"):
        played(RequestSampling(top_p=0.5))
