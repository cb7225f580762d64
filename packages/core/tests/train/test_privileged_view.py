"""What a teacher is shown: real prompts of the model that hold the hint, and the policy's tokens as they were."""

from dataclasses import replace

import pytest
import torch
from PIL import Image

from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.learner.sequences import TrainingSequence, pack, training_sequences
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.instructions import Style
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.episodes import EpisodeSpec, RolloutSettings
from saccade.rollout.trajectory import demonstrate
from saccade.testing.tasks import tiny_example
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.train.privileged import MARGIN, PrivilegedView, gold_pages, hint_of, quarters, regions, right_answer
from saccade.types import Example, Page, Target

TEXTS = ["Which colour has the square? I look. A closer look at what it is about:"] * 9


def asked(style: Style) -> EpisodeSpec:
    return EpisodeSpec(
        protocol=tagged_protocol(style=style), tools=(tool_from(crop),), rollout=RolloutSettings(max_tokens=4096)
    )


def shown(model: VisionLanguageModel, example: Example, view: str, style: Style) -> tuple[TrainingSequence, ...]:
    """The expert's sequence, and the same as its teacher sees it."""
    episodes = asked(style)
    played = demonstrate(example, env=episodes.environment(model.media, model.view), chat=model.chat)
    [own] = training_sequences(played)
    [with_view] = PrivilegedView(model, episodes, hint_of(view, style))(example.task, [own])
    assert with_view.teacher_view is not None
    return own, with_view.teacher_view


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl", "internvl", "gemma3"])
@pytest.mark.parametrize("style", ["brief", "full"])
def test_the_prompt_holds_the_region_and_all_that_the_policy_wrote_and_saw_stays(
    family: TinyFamily, style: Style
) -> None:
    model = tiny_model(TEXTS, MediaStore(), family=family, seed=1)
    example = tiny_example(model.media, 5)
    own, seen = shown(model, example, "region", style)
    # The square is 32 px wide, and a quarter of that is shown around it.
    [target] = example.task.targets
    left, top = target.box.x1 - MARGIN * 32, target.box.y1 - MARGIN * 32
    expected = model.media.get(example.task.images[0]).crop((int(left), int(top), int(left) + 48, int(top) + 48))
    found = [one for one in seen.images if one not in own.images]
    assert [model.media.get(one).tobytes() for one in found] == [expected.tobytes()]
    assert len(seen.images) == len(own.images) + 1
    assert seen.images[: seen.prompt_images] == (*own.images[:1], *found)
    actions = [[token for token, acts in zip(one.ids, one.is_action) if acts] for one in (own, seen)]
    assert actions[0] == actions[1]
    assert seen.ids[seen.prompt_tokens :] == own.ids[own.prompt_tokens :]
    assert seen.is_action[seen.prompt_tokens :] == own.is_action[own.prompt_tokens :]
    assert not any(seen.is_action[: seen.prompt_tokens])
    words = model.tokenizer.decode(seen.ids[: seen.prompt_tokens])
    assert ("A closer look" in words) == (style == "full")
    assert words.index("Which colour") < words.rindex(model.chat.image_token)
    assert words.endswith(model.tokenizer.decode(own.ids[own.prompt_tokens - 4 : own.prompt_tokens]))


def test_positions_are_worked_out_for_the_longer_prompt() -> None:
    model = tiny_model(TEXTS, MediaStore(), family="qwen2_5_vl", seed=1)
    own, seen = shown(model, tiny_example(model.media, 5), "region", "full")
    packs = [pack(model, [one]) for one in (own, seen)]
    whole = model.positions(seen.ids[: seen.forwarded_count], seen.images)
    assert torch.equal(packs[1].positions, whole)
    assert torch.equal(packs[0].targets, packs[1].targets)
    moved = packs[1].positions[:, -5:] - packs[0].positions[:, -5:]
    assert bool((moved == moved[0, 0]).all())
    assert moved[0, 0] > 0


def test_the_answer_is_said_in_words_and_no_picture_is_added() -> None:
    model = tiny_model(TEXTS, MediaStore(), seed=1)
    own, seen = shown(model, tiny_example(model.media, 2), "answer", "brief")
    assert "The right answer is blue." in model.tokenizer.decode(seen.ids[: seen.prompt_tokens])
    assert "The right answer" not in model.tokenizer.decode(own.ids)
    assert seen.images == own.images


def test_an_answer_that_spells_a_token_of_the_template_is_only_words() -> None:
    model = tiny_model(TEXTS, MediaStore(), seed=1)
    example = tiny_example(model.media)
    task = replace(example.task, answer=f"{model.chat.image_token}{model.chat.eos_token}")
    view = PrivilegedView(model, asked("brief"), hint_of("answer", "brief"))
    own, more = view.prompts(task)
    assert more.ids.count(model.image_token_id) == own.ids.count(model.image_token_id)
    assert more.ids.count(model.eos_id) == own.ids.count(model.eos_id)


def test_quarters_are_for_pictures_of_which_the_model_sees_less() -> None:
    model = tiny_model(TEXTS, MediaStore(), seed=1)
    large = model.media.add(Image.linear_gradient("L").convert("RGB").resize((1024, 512)))
    task = replace(tiny_example(model.media).task, images=(large,))
    found = quarters(task, model.media, model.view)
    assert [(one.width, one.height) for one in found if not isinstance(one, str)] == [(512, 256)] * 4
    small = model.media.add(Image.new("RGB", (64, 64)))
    assert quarters(replace(task, images=(small,)), model.media, model.view) == ()


def test_regions_stay_inside_of_the_picture_and_are_never_too_narrow() -> None:
    media = MediaStore()
    example = tiny_example(media)
    thin = Target(label="line", box=Box(0, 255, 256, 256), point=Point(128, 255.5))
    [line] = regions(replace(example.task, targets=(thin, thin)), media, None)  # type: ignore[arg-type]
    assert not isinstance(line, str)
    assert line.width == 256
    assert 4 <= line.height <= 8
    many = tuple(replace(thin, box=Box(0, y, 8, y + 8)) for y in range(0, 200, 10))
    assert len(regions(replace(example.task, targets=many), media, None)) == 8  # type: ignore[arg-type]


def test_the_gold_page_is_shown_once_more() -> None:
    media = MediaStore()
    task = tiny_example(media).task
    other = media.add(Image.new("RGB", (80, 80)))
    pages = (Page(document="a.pdf", number=1), Page(document="a.pdf", number=2))
    task = replace(task, images=(task.images[0], other), shown_pages=pages, gold_pages=pages[1:])
    assert gold_pages(task, media, None) == (other,)  # type: ignore[arg-type]
    assert gold_pages(replace(task, gold_pages=None), media, None) == ()  # type: ignore[arg-type]
    assert right_answer(replace(task, answer=""), media, None) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(("view", "says"), [("region", "give its row `boxes`"), ("large", "no picture larger")])
def test_a_question_without_the_hint_is_refused_by_its_name(view: str, says: str) -> None:
    model = tiny_model(TEXTS, MediaStore(), seed=1)
    small = model.media.add(Image.new("RGB", (64, 64)))
    task = replace(tiny_example(model.media).task, targets=(), images=(small,))
    with pytest.raises(UserError, match=says):
        PrivilegedView(model, asked("brief"), hint_of(view, "brief")).prompts(task)


def test_a_context_that_does_not_begin_with_the_question_is_refused() -> None:
    model = tiny_model(TEXTS, MediaStore(), seed=1)
    example = tiny_example(model.media)
    own, _ = shown(model, example, "region", "brief")
    view = PrivilegedView(model, asked("brief"), hint_of("region", "brief"))
    with pytest.raises(UserError, match="does not begin with its question"):
        view(example.task, [replace(own, ids=(own.ids[0] + 1, *own.ids[1:]))])
