"""What a page says of what the policy was sent: its prompt, and the size at which it saw each picture."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from viewer_fake_run import guessing_attempt, search_task

from places import source_file
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.types import Attempt, ImageRef, Segment
from saccade.viewer.scene.parts import Identity
from saccade.viewer.scene.scene import scene_of
from saccade.viewer.store.policy_files import PolicyFiles, policy_files_below

BASE = source_file("models/base_checkpoint")
WHERE = Identity(id="a.0", run="r", stage="rl", step=1)


def policy_of(root: Path, **pictures: object) -> PolicyFiles:
    """Those of the shipped checkpoint, with other values in its ``preprocessor_config.json``."""
    folder = root / "step"
    folder.mkdir()
    for name in ("tokenizer.json", "config.json"):
        shutil.copy(BASE / name, folder)
    read = json.loads((BASE / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(json.dumps({**read, **pictures}))
    found = policy_files_below(root)
    assert found is not None
    return found


def asked(policy: PolicyFiles, image_tokens: int) -> Attempt:
    """A guess after a prompt of a picture between two words of the vocabulary."""
    task = search_task(MediaStore(), 0)
    word = next(token for token in range(300, 800) if policy.text_of([token]).strip().isalpha())
    assert policy.image_token is not None
    ids = (word, *(policy.image_token,) * image_tokens, word)
    attempt = guessing_attempt(task, "rows")
    segment = Segment(role="prompt", turn=0, ids=ids, images=task.images)
    return replace(attempt, trajectory=replace(attempt.trajectory, segments=(segment,)))


def test_the_prompt_is_shown_as_sent_with_a_mark_for_each_picture(tmp_path: Path) -> None:
    policy = policy_of(tmp_path)
    attempt = asked(policy, 16)
    scene = scene_of(attempt, WHERE, policy=policy)
    word = policy.text_of(attempt.trajectory.segments[0].ids[:1])
    [sent] = scene.sent
    assert (sent.text, sent.tokens) == (f"{word}[image 1: 16 tokens, seen at 64 × 64 px]{word}", 18)
    assert scene.pictures[0].seen == (64, 64)


@pytest.mark.parametrize("family", ["gemma3", "gemma4"])
def test_a_gemma_names_its_placeholder_and_its_sizes_otherwise(tmp_path: Path, family: TinyFamily) -> None:
    folder = tmp_path / "step"
    size = TinySize(hidden=16, layers=1, mlp=16, vision_hidden=16, vision_mlp=16)
    model = tiny_model(["Which plate is red?"] * 9, MediaStore(), family=family, size=size, vocab_size=400)
    model.save(folder)
    policy = policy_files_below(tmp_path)
    assert policy is not None
    assert policy.image_token == model.image_token_id
    assert policy.view == model.view
    assert policy.text_of(model.chat.encode(" plate")) == " plate"


def test_a_size_that_the_tokens_do_not_bear_out_is_not_claimed(tmp_path: Path) -> None:
    policy = policy_of(tmp_path)
    scene = scene_of(asked(policy, 25), WHERE, policy=policy)
    assert scene.pictures[0].seen is None
    assert "[image 1: 25 tokens]" in scene.sent[0].text


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": {}},
        {"size": 5},
        {"patch_size": 0},
        {"merge_size": "2"},
        {"size": {"shortest_edge": True}},
        {"size": {"height": 1e99}},
    ],
    ids=["no size", "a number", "no patch", "a text", "a truth", "a huge tile"],
)
def test_a_damaged_file_takes_away_the_size_and_no_more(tmp_path: Path, wrong: dict[str, object]) -> None:
    policy = policy_of(tmp_path, **wrong)
    assert policy.view is None
    assert scene_of(asked(policy, 16), WHERE, policy=policy).pictures[0].seen is None


def test_published_files_name_their_limits_beside_the_size(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, size=None, min_pixels=3136, max_pixels=12845056, patch_size=14)
    assert policy.view is not None
    assert policy.view.view_size(1000, 500) == (1008, 504)


def test_joined_frames_of_a_video_are_shown_by_their_own_size(tmp_path: Path) -> None:
    policy = policy_of(tmp_path)
    attempt = asked(policy, 8)
    [segment] = attempt.trajectory.segments
    joined = replace(segment, images=(ImageRef(hash="f" * 64, width=64, height=64, frames=2),))
    shown = replace(attempt, trajectory=replace(attempt.trajectory, segments=(joined,)))
    assert "[2 frames: 8 tokens, seen at 64 × 32 px]" in scene_of(shown, WHERE, policy=policy).sent[0].text
