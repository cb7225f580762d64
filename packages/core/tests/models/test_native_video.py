"""A video as Qwen3-VL's own video tokens: counts, times, positions, features and logits as transformers has them."""

import math
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from PIL import Image
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import smart_resize

from published_models import write_published
from saccade.codec.wrong import BrokenRecordError
from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.learner.learner import Learner
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import training_sequences
from saccade.media.joined_frames import MOST_VIDEO_PIXELS, joined_frames, video_size
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import tiny_model
from saccade.models.checkpoint import LoadSettings
from saccade.models.loading import load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol
from saccade.rollout.batch import rollout_batch
from saccade.rollout.episodes import EpisodeSpec, RolloutRequest, RolloutSettings
from saccade.runs.position import Position
from saccade.runs.records import read_records, write_records
from saccade.runs.task_json import task_from_json, task_to_json
from saccade.testing.family_case import plain_logits
from saccade.types import Attempt, ImageRef, Task

TIMES = (0.0, 0.5, 1.0, 1.5, 2.1)


def clip(media: MediaStore, count: int = 5, width: int = 96, height: int = 64) -> tuple[ImageRef, ...]:
    rng = np.random.default_rng(7)
    frames = (rng.integers(0, 255, (height, width, 3), dtype=np.uint8) for _ in range(count))
    return tuple(media.add(Image.fromarray(frame)) for frame in frames)


def asked(media: MediaStore, **changes: object) -> Task:
    task = Task(
        id="v",
        family="own",
        question="When does it fall?",
        answer="1",
        answer_kind="exact",
        images=clip(media),
        frame_times_s=TIMES,
    )
    return replace(task, **changes)  # type: ignore[arg-type]


def spec(**rollout: object) -> EpisodeSpec:
    settings = RolloutSettings(max_turn_tokens=12, max_tokens=2000, native_video=True)
    return EpisodeSpec(protocol=direct_protocol(), rollout=replace(settings, **rollout), max_turns=1)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> VisionLanguageModel:
    path = tmp_path_factory.mktemp("published")
    write_published(path, "Qwen/Qwen3-VL-2B-Instruct")
    return load_model(path, MediaStore(), LoadSettings(device="cpu"))


def prompt_of(model: VisionLanguageModel, task: Task, **rollout: object) -> tuple[str | ImageRef, ...]:
    env = spec(**rollout).environment(model.media, model.view)
    env.reset(options={"task": task})
    return tuple(part for message in env.prompt for part in message.parts)


def test_a_video_is_two_frames_a_patch_each_after_the_time_that_transformers_gives(model: VisionLanguageModel) -> None:
    task = asked(model.media, frame_times_s=(0.0, 0.5, 1.0, 1.5, 2.0))
    parts = prompt_of(model, task)
    joined = [part for part in parts if isinstance(part, ImageRef)]
    times = Qwen3VLProcessor._calculate_timestamps(None, [0, 1, 2, 3, 4], 2.0)
    start = parts.index(joined[0]) - 1
    assert list(parts[start : start + 6 : 2]) == [f"<{time:.1f} seconds>" for time in times]
    assert [(one.frames, one.width, one.height) for one in joined] == [(2, 96, 128)] * 3
    # Half as many tokens as five pictures of this size have, and one that is there twice.
    assert [model.view.token_count(one) for one in joined] == [96 // model.view.factor * (64 // model.view.factor)] * 3
    pictures = prompt_of(model, task, native_video=False)
    assert sum(isinstance(part, ImageRef) for part in pictures) == 5


@pytest.mark.parametrize("frames", [2, 3, 5, 8, 40, 768])
@pytest.mark.parametrize("size", [(96, 64), (33, 31), (20, 300), (640, 360), (1920, 1080)])
def test_frames_have_the_size_that_transformers_gives_them(frames: int, size: tuple[int, int]) -> None:
    view = ResizeRule(factor=32, min_pixels=1 << 16, max_pixels=1 << 40, convention="relative_1000", video_frames=2)
    height, width = smart_resize(frames, size[1], size[0], factor=32, min_pixels=4096, max_pixels=MOST_VIDEO_PIXELS)
    assert video_size(*size, frames, view) == (width, height)
    bounded = replace(view, max_pixels=1 << 14)
    assert math.prod(video_size(640, 360, frames, bounded)) <= 1 << 14


def test_positions_features_and_logits_are_those_of_transformers_own_video(model: VisionLanguageModel) -> None:
    task = asked(model.media)
    env = spec().environment(model.media, model.view)
    env.reset(options={"task": task})
    prompt = model.chat.prompt(env.prompt)
    hf, config = model.hf, model.hf.config
    video_id = int(config.video_token_id)
    ids = torch.tensor([[video_id if one == model.image_token_id else one for one in prompt.ids]])
    pixels, rows, columns = own_pixels(model, task)
    grid = torch.tensor([[3, rows, columns]])
    types = (ids == video_id).int() * 2
    with torch.no_grad():
        theirs = hf(
            input_ids=ids, pixel_values_videos=pixels, video_grid_thw=grid, mm_token_type_ids=types, use_cache=False
        ).logits[0]
        places, _ = hf.model.get_rope_index(ids, mm_token_type_ids=types, video_grid_thw=grid)
        [features] = hf.model.get_video_features(pixels, grid, return_dict=True).pooler_output
        ours = torch.cat([one.tokens for one in model.encode_images(prompt.images)])
        embedded = model.embed(torch.tensor([prompt.ids]), model.encode_images(prompt.images))
    assert torch.equal(model.positions(prompt.ids, prompt.images), places[:, 0])
    assert torch.allclose(ours, features, atol=1e-5)
    assert torch.equal(embedded.is_image, ids == video_id)
    mine = plain_logits(model, prompt.ids, prompt.images)
    may_be_said = mine.isfinite()
    assert may_be_said.any()
    assert (mine - theirs)[may_be_said].abs().max() < 1e-4


def own_pixels(model: VisionLanguageModel, task: Task) -> tuple[torch.Tensor, int, int]:
    """``pixel_values_videos`` as Qwen3-VL's video processor cuts frames that need no resizing, and rows and columns."""
    processor = model.image_processor
    mean, std = (torch.tensor(getattr(processor, name)).view(3, 1, 1) for name in ("image_mean", "image_std"))
    frames = [torch.tensor(np.array(model.media.get(one))).permute(2, 0, 1) / 255 for one in task.images]
    video = torch.stack([(frame - mean) / std for frame in (*frames, frames[-1])])
    patch, merge = processor.patch_size, processor.merge_size
    times, rows, columns = len(video) // 2, video.shape[2] // patch, video.shape[3] // patch
    cut = video.view(times, 2, 3, rows // merge, merge, patch, columns // merge, merge, patch)
    cut = cut.permute(0, 3, 6, 4, 7, 2, 1, 5, 8)
    return cut.reshape(times * rows * columns, -1).float(), rows, columns


def test_engine_learner_and_records_have_the_same_video(model: VisionLanguageModel, tmp_path: Path) -> None:
    episodes, task = spec(), asked(model.media)
    requests = [RolloutRequest(task=task, stream="main", sample=number, seed=number) for number in range(3)]
    engine = LocalEngine(model)
    trajectories = rollout_batch(
        requests,
        engine=engine,
        chat=model.chat,
        make_env=lambda: episodes.environment(model.media, model.view),
        settings=episodes.rollout,
    )
    assert engine.images_encoded == 3
    sequences = [one for trajectory in trajectories for one in training_sequences(trajectory)]
    learned = Learner(model, OptimizerSettings(learning_rate=1e-3)).logprobs(sequences, temperature=1.0)
    gaps = [abs(a - b) for one, own in zip(sequences, learned) for a, b in zip(one.sampled_logprobs, own, strict=True)]
    assert gaps
    assert max(gaps) < 1e-4
    path = tmp_path / "step.jsonl"
    attempts = [Attempt(task=task, trajectory=one) for one in trajectories]
    write_records(path, Position(stage="rl", step=1), attempts, media=model.media, media_directory=tmp_path / "media")
    again = [one.trajectory for one in read_records(path)]
    assert [one.segments for one in again] == [one.segments for one in trajectories]
    # Pictures alone are written as before.
    assert path.read_text().count('"frames":') == 3 * len(trajectories)
    assert all((tmp_path / "media" / f"{one.hash}.png").is_file() for one in trajectories[0].images)


def test_what_a_store_has_forgotten_is_joined_again_and_else_nothing_twice() -> None:
    media = MediaStore()
    view = ResizeRule(factor=32, min_pixels=1, max_pixels=1 << 20, convention="relative_1000", video_frames=2)
    frames = clip(media)
    with media.temporary():
        first = joined_frames(frames, view, media)
        assert joined_frames(frames, view, media) == first
    assert first[0].hash not in media
    assert joined_frames(frames, view, media) == first
    assert first[0].hash in media


@pytest.mark.parametrize("family", ["internvl", "qwen2_5_vl"])
def test_a_family_without_such_tokens_is_refused_and_questions_without_a_video_are_asked_as_ever(family: str) -> None:
    other = tiny_model(["When?"] * 9, MediaStore(), family=family)
    with pytest.raises(UserError, match=r"native_video=true: this model's family has no video tokens"):
        prompt_of(other, asked(other.media))
    still = asked(other.media, images=clip(other.media, 1), frame_times_s=())
    assert prompt_of(other, still) == prompt_of(other, still, native_video=False)


def test_pictures_and_videos_in_one_forward_have_the_features_that_they_have_alone(model: VisionLanguageModel) -> None:
    photo = model.media.add(Image.new("RGB", (64, 64), (200, 30, 30)))
    joined = joined_frames(clip(model.media), cast(ResizeRule, model.view), model.media)
    together = model.encode_images([photo, *joined])
    for one, features in zip((photo, *joined), together):
        assert torch.allclose(features.tokens, model.encode_images([one])[0].tokens, atol=1e-5)
    swapped = joined_frames(clip(model.media)[::-1], cast(ResizeRule, model.view), model.media)
    assert not torch.allclose(model.encode_images([swapped[1]])[0].tokens, together[2].tokens, atol=1e-3)


@pytest.mark.parametrize("frames", [0, 7, 65])
def test_a_record_whose_picture_cannot_hold_its_frames_is_refused(frames: int) -> None:
    value = task_to_json(asked(MediaStore()))
    value["images"][1]["frames"] = frames
    with pytest.raises(BrokenRecordError, match=f"cannot hold {frames} frames"):
        task_from_json(value)
