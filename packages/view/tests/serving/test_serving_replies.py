"""What clients of OpenAI's interface get from a served agent: replies, streams, samples, sums, traces."""

import json
import threading

import openai
import pytest
from served_agent import picture, said, shown

from saccade.runs.trajectory_json import trajectory_from_json


def client(agent):
    return openai.OpenAI(base_url=f"{agent.url}/v1", api_key="none", max_retries=0, timeout=60)


def messages(*parts):
    return [{"role": "user", "content": list(parts)}]


def test_the_reply_is_the_answer_of_a_whole_episode(agent):
    with client(agent) as ours:
        assert [model.id for model in ours.models.list().data] == ["demo"]
        reply = ours.chat.completions.create(
            model="demo", messages=messages(shown(picture()), said("What is it?")), max_tokens=100, temperature=0
        )
    [choice] = reply.choices
    assert choice.finish_reason == "stop"
    assert choice.message.content.startswith("served-")
    assert reply.saccade["trajectories"] == [{"status": "answered", "turns": 2, "tool_calls": 1}]
    trace = agent.get(reply.saccade["trace"]).json()
    assert trace["task"]["id"] == choice.message.content
    trajectory = trajectory_from_json(trace["trajectories"][0])
    assert trajectory.answer == choice.message.content
    assert reply.usage.completion_tokens == sum(trajectory.action_mask)
    assert reply.usage.total_tokens == len(trajectory.ids)
    crop = trajectory.turns[0].result.images[0]
    shown_again = agent.get(f"{reply.saccade['trace']}/images/{crop.hash}")
    assert shown_again.headers["content-type"] == "image/png"


def test_a_stream_tells_each_step_then_the_answer_then_the_sums(agent):
    with client(agent) as ours:
        stream = ours.chat.completions.create(
            model="demo",
            messages=messages(shown(picture()), said("What is it?")),
            n=2,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
    steps = [chunk.saccade for chunk in chunks if chunk.model_extra and chunk.choices]
    for choice in (0, 1):
        own = [step for step in steps if step["choice"] == choice]
        assert [(step["event"], step["turn"]) for step in own] == [("tool_step", 0), ("turn", 1)]
        assert own[0]["call"]["name"] == "crop"
        assert own[0]["result"]["is_ok"] is True
    texts = {0: "", 1: ""}
    ends = {}
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            ends[choice.index] = choice.finish_reason or ends.get(choice.index)
    assert texts[0] == texts[1] != ""
    assert ends == {0: "stop", 1: "stop"}
    assert chunks[-1].usage.total_tokens > 0


def test_a_stream_is_events_to_its_end(agent):
    lines = agent.ask("What is it?", stream=True).text.strip().split("\n\n")
    assert lines[-1] == "data: [DONE]"
    assert all(json.loads(line.removeprefix("data: "))["object"] == "chat.completion.chunk" for line in lines[:-1])


def test_samples_have_seeds_of_their_own_and_the_first_the_given_one(agent):
    before = len(agent.engine.asked)
    agent.ask("Which?", n=3, seed=7, temperature=0.5, top_p=0.9, top_k=-1)
    asked = agent.engine.asked[before:]
    seeds = {request.label.rsplit("/", 1)[1]: request.sampling.seed for request in asked}
    assert seeds["0"] == 7
    assert len(set(seeds.values())) == 3
    assert {(one.sampling.temperature, one.sampling.top_p, one.sampling.top_k) for one in asked} == {(0.5, 0.9, 0)}


def test_max_tokens_cuts_the_reply_and_not_the_thoughts(agent):
    reply = agent.ask("What is it?", max_tokens=3).json()
    assert reply["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": "ser", "refusal": None},
        "logprobs": None,
        "finish_reason": "length",
    }
    assert reply["usage"]["completion_tokens"] > 100


def test_max_completion_tokens_bounds_all_turns_together(agent):
    reply = agent.ask("What is it?", max_completion_tokens=130).json()
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["choices"][0]["message"]["content"] == ""
    assert reply["usage"]["completion_tokens"] == 130


def test_a_stop_text_ends_the_reply(agent):
    reply = agent.ask("What is it?", stop=["ved"]).json()
    assert reply["choices"][0]["message"]["content"] == "ser"


def test_pictures_between_words_are_shown_where_they_stand(agent):
    content = [said("Compare"), shown(picture(1)), said("with"), shown(picture(2, kind="JPEG")), said("please")]
    trace = agent.get(agent.ask(content).json()["saccade"]["trace"]).json()
    assert trace["task"]["question"] == "Compare<image 1>with<image 2>please"
    assert trace["task"]["interleaved"] is True
    assert len(trace["task"]["images"]) == 2


@pytest.mark.parametrize(
    "content",
    [
        [shown(picture(1)), shown(picture(2)), said("Compare <image 1>")],
        [said("Compare <image 1>"), shown(picture(1)), shown(picture(2))],
    ],
)
def test_pictures_at_an_end_stand_before_the_words_and_no_word_is_a_place(agent, content):
    task = agent.get(agent.ask(content).json()["saccade"]["trace"]).json()["task"]
    assert task["question"] == "Compare < image 1>"
    assert "interleaved" not in task


def test_earlier_turns_and_instructions_become_words_before_the_question(agent):
    body = {
        "model": "demo",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [shown(picture()), said("What is it?")]},
            {"role": "assistant", "content": "a plate"},
            {"role": "user", "content": "Which colour?"},
        ],
    }
    with client(agent) as ours:
        reply = ours.chat.completions.create(**body)
    question = agent.get(reply.saccade["trace"]).json()["task"]["question"]
    assert question == (
        "Be brief.\n\nEarlier in this conversation:\nUser: What is it?\nAssistant: a plate\nNow:\n\nWhich colour?"
    )


def test_a_transcript_is_all_turns_with_what_the_tools_said(serve):
    with serve(reply="transcript") as agent:
        whole = agent.ask([shown(picture()), said("What is it?")]).json()["choices"][0]["message"]["content"]
        with client(agent) as ours:
            stream = ours.chat.completions.create(
                model="demo", messages=messages(shown(picture()), said("What is it?")), stream=True
            )
            streamed = "".join(choice.delta.content or "" for chunk in stream for choice in chunk.choices)
    assert whole.count("<tool_call>") == 1
    assert "[image of 32 x 24]" in whole
    assert whole.endswith("</answer>")
    assert streamed.strip() == whole


def test_no_reply_is_mixed_with_anothers(agent):
    wrong = []

    def ask(number):
        for turn in range(4):
            reply = agent.ask([shown(picture(number)), said(f"Question {number} {turn}")]).json()
            task = agent.get(reply["saccade"]["trace"]).json()["task"]
            if task["question"] != f"Question {number} {turn}" or (
                task["id"] != reply["choices"][0]["message"]["content"]
            ):
                wrong.append(reply)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert agent.episodes.open_count == 0


def test_pictures_are_forgotten_with_the_last_trace_that_shows_them(serve):
    with serve(traces=2) as agent:
        for number in range(6):
            agent.ask([shown(picture(number)), said("What is it?")])
        # Each of the last two shows its picture and a crop of it.
        assert len(agent.media._backings) == 4


@pytest.mark.parametrize("name", ["agent_requests_total", "agent_tool_calls_total", "agent_tokens_total"])
def test_the_metrics_count(agent, name):
    agent.ask("What is it?")
    assert name in agent.get("/metrics").text
