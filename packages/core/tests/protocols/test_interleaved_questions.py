"""Pictures inside the words of a question: read, worded, rendered, sent, recorded, and changed by probes."""

from dataclasses import replace

import pytest
from PIL import Image

from saccade.chat.wire import wire_messages
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.evaluation.probes import probe
from saccade.evaluation.samples import question_hash
from saccade.interleaving import in_order, in_reading_order, interleaved_parts, without_marks
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.families import FAMILIES
from saccade.protocols import direct_protocol, protocol_named, tagged_protocol
from saccade.rollout import EpisodeSpec, RolloutSettings
from saccade.runs.task_json import task_from_json, task_to_json
from saccade.tools.images import IMAGE_TOOLS
from saccade.types import ImageRef, Task

VIEW = VisualReasoningEnv(media=MediaStore()).view


def pictures(media: MediaStore, count: int) -> tuple[ImageRef, ...]:
    return tuple(media.add(Image.new("RGB", (32 + 8 * at, 32), (40 * at, 90, 10))) for at in range(count))


def asked(images: tuple[ImageRef, ...], question: str = "Is <image 1> like <image 2>?", **other: object) -> Task:
    task = Task(
        id="t", family="f", question=question, answer="A", answer_kind="choice", images=images, is_interleaved=True
    )
    return replace(task, **other)


def test_places_are_numbered_in_reading_order_and_a_picture_named_twice_stands_twice() -> None:
    one, two, three = pictures(MediaStore(), 3)
    texts, shown = in_reading_order(("<image 2> or <image 1>, <image 2>", "<image 9>"), (one, two, three))
    assert texts == ("<image 1> or <image 2>, <image 3>", "< image 9>")
    assert shown == (two, one, two)


@pytest.mark.parametrize("text", ["no place", "<image 1>", "<image 2><image 1>", "<image 1><image 2><image 3>"])
def test_words_without_a_place_for_each_picture_in_order_have_none(text: str) -> None:
    assert interleaved_parts(text, pictures(MediaStore(), 2)) is None


def test_words_of_others_name_no_place() -> None:
    assert interleaved_parts(without_marks("<image 1>"), pictures(MediaStore(), 1)) is None


@pytest.mark.parametrize("style", ["full", "brief"])
@pytest.mark.parametrize("name", ["tagged", "direct", "textual", "described", "vanilla", "pointed"])
def test_every_protocol_shows_pictures_where_the_words_have_them(name: str, style: str) -> None:
    images = pictures(MediaStore(), 2)
    messages = protocol_named(name, style=style, max_turns=3).prompt(asked(images), (), VIEW)
    assert messages[-1].parts == ("Is ", images[0], " like ", images[1], "?")


def test_a_wording_without_places_has_the_pictures_before_it() -> None:
    images = pictures(MediaStore(), 2)
    task = asked(images, wordings={"textual": "Are they alike?"})
    parts = protocol_named("textual", style="brief", max_turns=1).prompt(task, (), VIEW)[-1].parts
    assert parts == (*images, "Are they alike?")


def test_places_in_options_follow_the_options_order() -> None:
    images = pictures(MediaStore(), 3)
    task = asked(images, "Which fits <image 1>?", choices=("<image 2>", "<image 3>"))
    turned = in_order(replace(task, choices=(task.choices[1], task.choices[0])))
    assert turned.images == (images[0], images[2], images[1])
    assert turned.choices == ("<image 2>", "<image 3>")
    parts = direct_protocol(style="brief").prompt(turned, (), VIEW)[-1].parts
    assert parts == ("Which fits ", images[0], "?\nA. ", images[2], "\nB. ", images[1])


def test_probes_keep_each_place_filled() -> None:
    media = MediaStore()
    images = pictures(media, 3)
    first = asked(images, "Which fits <image 1>?", choices=("<image 2>", "<image 3>"))
    second = asked((images[0],), "What is <image 1>?", choices=("red", "blue"), id="u", answer="B")
    spec = EpisodeSpec(protocol=direct_protocol(), tools=(), rollout=RolloutSettings())
    for name in ("blank", "other-image", "shuffled", "cycled", "no-question"):
        for task in probe(name, [first, second], spec, media=media, seed=1).tasks:
            [message] = direct_protocol(style="brief").prompt(task, (), VIEW)[1:]
            assert [part for part in message.parts if isinstance(part, ImageRef)] == list(task.images)
            assert not any("<image" in part for part in message.parts if isinstance(part, str)), (name, message.parts)


@pytest.fixture(scope="module", params=list(FAMILIES))
def family(request: pytest.FixtureRequest) -> str:
    return request.param


def test_the_chat_of_every_family_has_the_pictures_between_the_words(family: str) -> None:
    media = MediaStore()
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48, max_tiles=6)
    model = tiny_model(["Is it like that? red"] * 8, media, family=family, size=size, vocab_size=300, seed=3)
    images = pictures(media, 2)
    tokens = model.chat.prompt(direct_protocol(style="brief").prompt(asked(images), (), model.view))
    assert tokens.images == images
    told = model.tokenizer.decode(list(tokens.ids)).replace(model.chat.image_token, "#")
    between = told[told.index("#") : told.rindex("#") + 1]
    # LLaVA-OneVision's own template writes the pictures of a message before its words.
    assert ("like" in between) == (family != "llava_onevision")
    assert "Is" in told[: told.index("#")] or family == "llava_onevision"
    assert "?" in told[told.rindex("#") :]
    assert tokens.ids.count(model.chat.image_token_id) == sum(model.view.token_count(image) for image in images)


def test_a_server_is_sent_the_pictures_between_the_words() -> None:
    images = pictures(MediaStore(), 2)
    messages = direct_protocol(style="brief").prompt(asked(images), (), VIEW)
    content = wire_messages(messages, lambda image: image.hash)[-1]["content"]
    assert [part.get("text") or part["image_url"]["url"] for part in content] == [
        "Is ",
        images[0].hash,
        " like ",
        images[1].hash,
        "?",
    ]


def test_tools_count_the_pictures_in_the_order_in_which_they_are_seen() -> None:
    media = MediaStore()
    images = pictures(media, 2)
    env = VisualReasoningEnv(media=media, protocol=tagged_protocol(max_turns=3), tools=IMAGE_TOOLS, max_turns=3)
    env.reset(options={"task": asked(images)})
    env.step(
        '<think></think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 1000], "image": 2}}'
        "</tool_call>"
    )
    assert env.turns[0].action.arguments["image"] == 2
    assert env.images[:2] == images
    assert env.images[2].width == 20


def test_records_keep_that_the_pictures_stand_in_the_words() -> None:
    task = asked(pictures(MediaStore(), 2))
    assert task_from_json(task_to_json(task)) == task
    apart = replace(task, is_interleaved=False)
    assert "interleaved" not in task_to_json(apart)
    assert question_hash(task) != question_hash(apart)
