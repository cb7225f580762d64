"""A video by a family's own video tokens: counts, times, positions, features and logits as transformers has them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import torch
from PIL import Image
from transformers.models.glm4v.video_processing_glm4v import smart_resize as glm_resize
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize as qwen2_resize
from transformers.models.qwen3_vl.video_processing_qwen3_vl import smart_resize as qwen3_resize
from transformers.video_utils import VideoMetadata

from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.learner.learner import Learner
from saccade.learner.logprobs import pack_outputs
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import TrainingSequence, pack, training_sequences
from saccade.media.joined_frames import MOST_PIXELS, joined_frames, video_size
from saccade.media.resize import ResizeRule, token_coverage
from saccade.media.store import MediaStore
from saccade.media.video_rule import VideoRule
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.families.glm import GLM46V
from saccade.models.families.qwen import QWEN2_5_VL, QWEN3_VL
from saccade.models.own_processor import own_processor
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol
from saccade.rollout.batch import rollout_batch
from saccade.rollout.episodes import EpisodeSpec, RolloutRequest, RolloutSettings
from saccade.runs.position import Position
from saccade.runs.records import read_records, write_records
from saccade.testing.family_case import plain_logits, plain_logprobs
from saccade.types import Attempt, ImageRef, Message, Task, Trajectory

JOINING: tuple[TinyFamily, ...] = (
    *("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5"),
    *("glm4v", "glm4v_moe", "glm46v"),
)
ONE_OF_EACH: tuple[TinyFamily, ...] = ("qwen2_5_vl", "qwen3_vl", "qwen3_5", "glm46v")


@cache
def model_of(family: TinyFamily) -> VisionLanguageModel:
    """Views of 32 x 32 pixels to 96 x 96, in tokens of 16 pixels."""
    size = TinySize(joined_frames=2, deepstack=family.startswith("qwen3_vl"))
    made = tiny_model(["When does it fall? <0.5 seconds>"] * 9, MediaStore(), family=family, size=size)
    made.family.bound_views(made.image_processor, min_pixels=32 * 32, max_pixels=96 * 96)
    return VisionLanguageModel(made.hf, made.tokenizer, made.image_processor, made.media)


@pytest.fixture(params=JOINING)
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    return model_of(request.param)


def rule_of(model: VisionLanguageModel) -> VideoRule:
    rule = cast(ResizeRule, model.view).video
    assert rule is not None
    return rule


def clip(media: MediaStore, count: int = 5, width: int = 96, height: int = 64, seed: int = 7) -> tuple[ImageRef, ...]:
    rng = np.random.default_rng(seed)
    frames = (rng.integers(0, 255, (height, width, 3), dtype=np.uint8) for _ in range(count))
    return tuple(media.add(Image.fromarray(frame)) for frame in frames)


def asked(images: tuple[ImageRef, ...], fps: float = 2.0, name: str = "v") -> Task:
    return Task(
        id=name,
        family="own",
        question="When does it fall?",
        answer="1",
        answer_kind="exact",
        images=images,
        frame_times_s=tuple(place / fps for place in range(len(images))),
    )


def spec(**rollout: object) -> EpisodeSpec:
    settings = RolloutSettings(max_turn_tokens=12, max_tokens=2000, native_video=True)
    return EpisodeSpec(protocol=direct_protocol(), rollout=replace(settings, **rollout), max_turns=1)  # type: ignore[arg-type]


def messages(model: VisionLanguageModel, task: Task, **rollout: object) -> list[Message]:
    env = spec(**rollout).environment(model.media, model.view)
    env.reset(options={"task": task})
    return list(env.prompt)


def parts_of(said: Sequence[Message]) -> list[str | ImageRef]:
    return [part for message in said for part in message.parts]


def videos_of(model: VisionLanguageModel, task: Task) -> list[ImageRef]:
    return [part for part in parts_of(messages(model, task)) if isinstance(part, ImageRef)]


def grid_of(model: VisionLanguageModel, shown: Sequence[ImageRef]) -> tuple[int, int, int]:
    """``video_grid_thw`` of one video."""
    merge, (rows, columns, *_) = int(model.image_processor.merge_size), model.view.token_grid(shown[0])
    return sum(one.frames for one in shown) // 2, rows * merge, columns * merge


def processors_ids(model: VisionLanguageModel, task: Task, fps: float, grid: tuple[int, int, int]) -> list[int]:
    """The ids of the question where the family's own processor writes the video, its tokens by their own name."""
    written = []
    for message in messages(model, task, native_video=False):
        parts = list(message.parts)
        if task.images[0] in parts:
            start = parts.index(task.images[0])
            parts[start - 1 : start - 1 + 2 * len(task.images)] = [task.images[0]]
        written.append(model.chat.as_parts(message.role, parts))
    text = model.chat.rendered(written, generation=True)
    processor = own_processor(model.family.model_type, model.image_processor, model.tokenizer, {})
    processor.video_processor = SimpleNamespace(merge_size=model.image_processor.merge_size, temporal_patch_size=2)
    count = len(task.images)
    told = VideoMetadata(total_num_frames=count, fps=fps, frames_indices=list(range(count)))
    video = processor.replace_video_token({"video_grid_thw": torch.tensor([grid]), "video_metadata": [told]}, 0)
    if rule_of(model).around[0]:
        video = "<|begin_of_video|>" + video + "<|end_of_video|>"
        return encoded(model, text.replace("<|begin_of_image|><|image|><|end_of_image|>", video))
    # Qwen3-VL's template has a pair of marks around the video too, in whose place its patches were published.
    marks = "<|vision_start|><|image_pad|><|vision_end|>" if "seconds" in video else "<|image_pad|>"
    return encoded(model, text.replace(marks, video))


def encoded(model: VisionLanguageModel, text: str) -> list[int]:
    return [int(one) for one in model.tokenizer.encode(text, add_special_tokens=False)]


def named(model: VisionLanguageModel, ids: Sequence[int], images: Sequence[ImageRef]) -> tuple[list[int], list[int]]:
    """The ids with the video's own token where it has one, and transformers' types: 1 of pictures, 2 of videos."""
    kinds = iter([2 if one.frames > 1 else 1 for one in images for _ in range(model.view.token_count(one))])
    types = [next(kinds) if one == model.image_token_id else 0 for one in ids]
    own = model.image_token_id if rule_of(model).around[0] else int(model.hf.config.video_token_id)
    return [own if kind == 2 else one for one, kind in zip(ids, types)], types


def own_pixels(model: VisionLanguageModel, shown: Sequence[ImageRef]) -> torch.Tensor:
    """``pixel_values_videos`` as the families' video processors cut frames that are resized already."""
    processor = model.image_processor
    mean, std = (torch.tensor(getattr(processor, name)).view(3, 1, 1) for name in ("image_mean", "image_std"))
    stacked = torch.cat([torch.tensor(np.array(model.media.get(one))) for one in shown])
    high = shown[0].height // shown[0].frames
    video = (stacked.view(-1, high, shown[0].width, 3).permute(0, 3, 1, 2) / 255 - mean) / std
    patch, merge = processor.patch_size, processor.merge_size
    times, rows, columns = len(video) // 2, high // patch, shown[0].width // patch
    cut = video.view(times, 2, 3, rows // merge, merge, patch, columns // merge, merge, patch)
    cut = cut.permute(0, 3, 6, 4, 7, 2, 1, 5, 8)
    return cut.reshape(times * rows * columns, -1).float()


@pytest.mark.parametrize(("frames", "fps"), [(5, 2.0), (2, 0.7), (6, 3.0)])
def test_the_prompt_has_the_ids_that_the_familys_own_processor_gives(
    model: VisionLanguageModel, frames: int, fps: float
) -> None:
    task = asked(clip(model.media, frames), fps)
    prompt = model.chat.prompt(messages(model, task))
    ids, _ = named(model, prompt.ids, prompt.images)
    assert ids == processors_ids(model, task, fps, grid_of(model, prompt.images))


@pytest.mark.parametrize(
    ("frames", "fps", "size", "beside"),
    [(5, 2.0, (96, 64), 0), (2, 0.7, (48, 80), 0), (8, 0.3, (20, 90), 2), (3, 10.0, (200, 100), 1)],
)
def test_positions_features_and_logits_are_those_of_transformers_own_videos(
    model: VisionLanguageModel, frames: int, fps: float, size: tuple[int, int], beside: int
) -> None:
    first = messages(model, asked(clip(model.media, frames, *size), fps))
    videos = [[one for one in parts_of(first) if isinstance(one, ImageRef)]]
    seconds, extra = [2 / fps], list[Message]()
    if beside:
        # A picture, and another video beside it.
        other = messages(model, asked(clip(model.media, 4, 64, 64), 1.5))
        photo = Message(role="user", parts=("Here:", clip(model.media, 1, 40, 90)[0]))
        extra, seconds = [photo, *other[:beside]], [2 / fps, 2 / 1.5]
        videos.append([one for one in parts_of(other) if isinstance(one, ImageRef)])
    prompt = model.chat.prompt([*first, *extra])
    stills = [one for one in prompt.images if one.frames == 1]
    ids, types = (torch.tensor([one]) for one in named(model, prompt.ids, prompt.images))
    shown = videos if len(stills) == 0 or len(prompt.images) > len(videos[0]) + 1 else videos[:1]
    grid = torch.tensor([grid_of(model, video) for video in shown])
    pictures = torch.tensor([[1, one.rows, one.columns] for one in model.patches.get(stills)]).view(-1, 3)
    kept = {"image_grid_thw": pictures} if stills else {}
    told = {"second_per_grid_ts": torch.tensor(seconds[: len(shown)])} if rule_of(model).positions_per_second else {}
    hf = model.hf
    pixels = torch.cat([own_pixels(model, video) for video in shown])
    with torch.no_grad():
        places, _ = hf.model.get_rope_index(ids, mm_token_type_ids=types, video_grid_thw=grid, **kept, **told)
        assert torch.equal(model.positions(prompt.ids, prompt.images), places[:, 0])
        theirs = torch.cat([*hf.model.get_video_features(pixels, grid, return_dict=True).pooler_output])
        ours = torch.cat([one.tokens for one in model.encode_images([one for video in shown for one in video])])
        assert torch.allclose(ours, theirs, atol=1e-5)
        if stills and rule_of(model).around[0]:
            # GLM's forward takes pictures and videos for each other, and counts the features of each against all.
            return
        if stills:
            processed = model.image_processor(images=[model.media.get(one) for one in stills], return_tensors="pt")
            kept["pixel_values"] = processed["pixel_values"]
        logits = hf(
            input_ids=ids,
            pixel_values_videos=pixels,
            video_grid_thw=grid,
            mm_token_type_ids=types.int(),
            use_cache=False,
            **kept,
            **told,
        ).logits[0]
        mine = plain_logits(model, prompt.ids, prompt.images)
    may_be_said = mine.isfinite()
    assert may_be_said.any()
    assert (mine - logits)[may_be_said].abs().max() < 1e-4


@pytest.mark.parametrize("frames", [2, 3, 5, 8, 40, 768])
@pytest.mark.parametrize("size", [(96, 64), (33, 31), (20, 300), (640, 360), (1920, 1080)])
def test_frames_have_the_size_that_transformers_gives_them(frames: int, size: tuple[int, int]) -> None:
    view = ResizeRule(factor=32, min_pixels=1 << 16, max_pixels=1 << 40, convention="relative_1000")
    for rule, own in ((QWEN3_VL.video, qwen3_resize), (GLM46V.video, glm_resize)):
        assert rule.bounds is not None
        least, most = rule.bounds
        height, width = own(frames, size[1], size[0], factor=32, min_pixels=least, max_pixels=most)
        assert video_size(*size, frames, view, rule) == (width, height)
        bounded = replace(view, max_pixels=1 << 14)
        assert math.prod(video_size(640, 360, frames, bounded, rule)) <= 1 << 14
    most = min(768 * 784, MOST_PIXELS // frames)
    each = ResizeRule(factor=28, min_pixels=3136, max_pixels=768 * 784, convention="absolute")
    height, width = qwen2_resize(size[1], size[0], min_pixels=3136, max_pixels=most)
    assert video_size(*size, frames, each, QWEN2_5_VL.video) == (width, height)


@pytest.mark.parametrize("rate", [2.0, 4.0, 25.0])
@pytest.mark.parametrize("fps", [0.1, 0.3, 0.7, 1.0, 2.0, 2.997, 10.0, 29.97])
def test_a_whole_videos_patches_are_as_far_apart_as_transformers_rounds_them(rate: float, fps: float) -> None:
    rule = replace(QWEN2_5_VL.video, positions_per_second=rate)
    seconds = rule.patch_seconds([place / fps for place in range(32)])
    video = ImageRef(hash="0", width=32, height=32 * 32, frames=32, patch_seconds=seconds)
    step = int(rate) * torch.tensor([2 / fps])[0]
    assert list(rule.patch_places(video)) == (torch.arange(16) * step).long().tolist()


def played(model: VisionLanguageModel, tasks: Sequence[Task], engine: LocalEngine) -> list[Trajectory]:
    episodes = spec()
    return rollout_batch(
        [RolloutRequest(task=task, stream="main", sample=0, seed=place) for place, task in enumerate(tasks)],
        engine=engine,
        chat=model.chat,
        make_env=lambda: episodes.environment(model.media, model.view),
        settings=episodes.rollout,
    )


def gradients(model: VisionLanguageModel, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    model.hf.zero_grad()
    loss.backward()
    return {name: one.grad.clone() for name, one in model.hf.named_parameters() if one.grad is not None}


def sequences_of(trajectories: Sequence[Trajectory]) -> list[TrainingSequence]:
    return [one for trajectory in trajectories for one in training_sequences(trajectory, (1.0,))]


@pytest.mark.parametrize("family", ONE_OF_EACH)
def test_engine_learner_and_records_have_the_same_video(family: TinyFamily, tmp_path: Path) -> None:
    model = model_of(family)
    frames = clip(model.media, seed=11)
    # The same frames at other times are another question.
    tasks = [asked(frames, 2.0, "a"), asked(frames, 0.2, "b"), asked(frames, 2.0, "a")]
    engine = LocalEngine(model)
    trajectories = played(model, tasks, engine)
    is_whole, rate = rule_of(model).is_whole, rule_of(model).positions_per_second
    assert engine.images_encoded == (1 if is_whole else 3)
    sequences = sequences_of(trajectories)
    learned = Learner(model, OptimizerSettings(learning_rate=1e-3)).logprobs(sequences, temperature=1.0)
    for one, own in zip(sequences, learned, strict=True):
        plain = plain_logprobs(model, one).tolist()
        assert max(abs(a - b) for a, b in zip(one.sampled_logprobs, own, strict=True)) < 1e-4
        assert max(abs(a - b) for a, b in zip(one.sampled_logprobs, plain, strict=True)) < 1e-4
    path = tmp_path / "step.jsonl"
    attempts = [Attempt(task=task, trajectory=one) for task, one in zip(tasks, trajectories)]
    write_records(path, Position(stage="rl", step=1), attempts, media=model.media, media_directory=tmp_path / "media")
    again = list(read_records(path))
    assert [one.trajectory.segments for one in again] == [one.segments for one in trajectories]
    # Pictures alone are written as before, and what tells nothing is not written.
    assert path.read_text().count('"frames":') == sum(len(one.images) for one in trajectories)
    assert path.read_text().count('"patch_seconds":') == (3 if rate else 0)
    assert all((tmp_path / "media" / f"{one.hash}.png").is_file() for one in trajectories[0].images)
    anew = tmp_path / "again.jsonl"
    read = [replace(one, trajectory=record.trajectory) for one, record in zip(attempts, again)]
    write_records(anew, Position(stage="rl", step=1), read, media=model.media, media_directory=tmp_path / "media")
    assert anew.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("family", ONE_OF_EACH)
def test_gradients_through_a_pack_are_those_of_its_sequences_alone(family: TinyFamily) -> None:
    model = model_of(family)
    frames = clip(model.media, 4, seed=12)
    tasks = [asked(frames, 2.0), asked(frames, 2.0), asked(frames, 0.2)]
    sequences = sequences_of(played(model, tasks, LocalEngine(model)))
    # What all begin with, and behind it a prompt of two sequences and one of another rate.
    assert len(pack(model, sequences).layout) == (2 if model.recurrent_layers else 1 + 2)
    logprobs, *_ = pack_outputs(model, sequences, temperature=1.0)
    together = gradients(model, logprobs.sum())
    alone = gradients(model, sum((plain_logprobs(model, one).sum() for one in sequences), torch.zeros(())))
    model.hf.zero_grad()
    assert together.keys() == alone.keys()
    assert any("visual" in name and alone[name].abs().max() > 1e-4 for name in alone)
    for name, gradient in together.items():
        assert torch.allclose(gradient, alone[name], atol=1e-3 * max(1.0, float(alone[name].abs().max())))


def test_what_a_store_has_forgotten_is_joined_again_and_else_nothing_twice() -> None:
    media = MediaStore()
    view = ResizeRule(factor=32, min_pixels=1, max_pixels=1 << 20, convention="relative_1000")
    frames, rule = clip(media), QWEN3_VL.video
    with media.temporary():
        first = joined_frames(frames, view, rule, media)
        assert joined_frames(frames, view, rule, media) == first
    assert first[0].hash not in media
    assert joined_frames(frames, view, rule, media) == first
    assert first[0].hash in media


@pytest.mark.parametrize("family", ["internvl", "llava_onevision", "smolvlm", "gemma3"])
def test_a_family_without_such_tokens_is_refused_and_questions_without_a_video_are_asked_as_ever(
    family: TinyFamily,
) -> None:
    other = tiny_model(["When?"] * 9, MediaStore(), family=family)
    with pytest.raises(UserError, match=r"native_video=true: this model's family has no video tokens"):
        messages(other, asked(clip(other.media)))
    still = asked(clip(other.media, 1))
    assert messages(other, still) == messages(other, still, native_video=False)


def test_a_single_frame_is_a_picture_whose_features_are_those_of_a_video_of_it(model: VisionLanguageModel) -> None:
    still = asked(clip(model.media, 1, 64, 48))
    assert messages(model, still) == messages(model, still, native_video=False)
    [picture] = still.images
    view = cast(ResizeRule, model.view)
    [video] = joined_frames([picture, picture], view, replace(rule_of(model), bounds=None), model.media)
    a, b = (one.tokens for one in model.encode_images([picture, video]))
    assert torch.allclose(a, b, atol=1e-4)


def test_pictures_and_videos_in_one_forward_have_the_features_that_they_have_alone(model: VisionLanguageModel) -> None:
    photo = model.media.add(Image.new("RGB", (64, 64), (200, 30, 30)))
    joined = videos_of(model, asked(clip(model.media)))
    together = model.encode_images([photo, *joined])
    for one, features in zip((photo, *joined), together):
        assert torch.allclose(features.tokens, model.encode_images([one])[0].tokens, atol=1e-5)
    swapped = videos_of(model, asked(clip(model.media)[::-1]))
    assert not torch.allclose(model.encode_images([swapped[-1]])[0].tokens, together[-1].tokens, atol=1e-3)


def test_each_patch_of_a_whole_video_lies_over_its_own_frames() -> None:
    model = model_of("qwen2_5_vl")
    [video] = videos_of(model, asked(clip(model.media)))
    blocks = model.view.token_blocks(video)
    assert [block.part.y1 for block in blocks] == [0, video.height / 3, 2 * video.height / 3]
    assert all(a.part.y2 == b.part.y1 for a, b in pairwise(blocks))
    assert len(token_coverage(blocks, [blocks[1].part])) == model.view.token_count(video)
