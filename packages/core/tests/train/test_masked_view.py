"""Masked pictures: what is asked of the learner, what stays of them, and runs that learn by them."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from dying_run import Killed
from PIL import Image
from test_overlap import metric, outcome, run

from saccade.algorithms.options import PerceptionOptions, PolicyOptions
from saccade.algorithms.policy_gradient import grpo
from saccade.learner.sequences import TrainingSequence
from saccade.media.store import MediaStore
from saccade.train.masked_view import MaskedView
from saccade.types import ImageRef

pytestmark = pytest.mark.usefixtures("warm_engines")

BOTH = grpo(
    options=PolicyOptions(
        perception=PerceptionOptions(masked_kl_weight=0.02, token_share=0.4, least_scale=0.9, patch_px=4)
    )
)
AHEAD = ("rl.overlap=true", "rl.staleness=1")


class RememberingLearner:
    """A learner that remembers what it was asked, and what the pictures were then."""

    def __init__(self, media: MediaStore) -> None:
        self.media = media
        self.sequences: list[TrainingSequence] = []
        self.pictures: list[Image.Image] = []

    def logprobs(self, sequences: Sequence[TrainingSequence], *, temperature: float) -> list[tuple[float, ...]]:
        self.sequences = list(sequences)
        self.pictures = [self.media.get(image) for one in sequences for image in one.images]
        return [(-1.0,) * one.action_count for one in sequences]


def sequence(*images: ImageRef) -> TrainingSequence:
    return TrainingSequence(
        ids=(1, 2, 3),
        is_action=(False, False, True),
        images=images,
        prompt_tokens=2,
        prompt_images=len(images),
        sampled_logprobs=(-1.0,),
        advantages=(1.0,),
        token_weight=1.0,
        routed_experts=b"abcd",
    )


def test_every_picture_is_masked_and_none_of_the_masked_ones_stays() -> None:
    media = MediaStore()
    learner = RememberingLearner(media)
    white = media.add(Image.new("RGB", (56, 56), (255, 255, 255)))
    frames = ImageRef(hash=white.hash, width=56, height=56, frames=2, patch_seconds=0.5)
    # What is black already is masked to itself, and must not be forgotten.
    black = media.add(Image.new("RGB", (56, 56)))
    view = MaskedView(learner=learner, media=media, perception=PerceptionOptions(), temperature=1.0, seed=3)  # type: ignore[arg-type]
    assert view([sequence(white, black), sequence(frames)]) == [(-1.0,), (-1.0,)]
    first, second = learner.sequences
    assert first.images[0].hash == second.images[0].hash != white.hash
    assert (second.images[0].frames, second.images[0].patch_seconds) == (2, 0.5)
    assert first.images[1] == black
    assert first.routed_experts == b""
    assert [sorted(colour for _, colour in picture.getcolors() or ()) for picture in learner.pictures] == [
        [(0, 0, 0), (255, 255, 255)],
        [(0, 0, 0)],
        [(0, 0, 0), (255, 255, 255)],
    ]
    assert first.images[0].hash not in media
    assert white.hash in media
    assert black.hash in media


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("masked") / "run"
    run(out, *AHEAD, algorithm=BOTH)
    return out


def test_a_run_learns_by_masked_pictures_and_keeps_none_of_them(left_alone: Path, tmp_path: Path) -> None:
    run(tmp_path / "plain", *AHEAD)
    assert all(value is not None and value > 0 for value in metric(left_alone, "picture_dependence"))
    assert metric(tmp_path / "plain", "picture_dependence") == [None] * 4
    pictures = [sorted(path.name for path in out.glob("media/*")) for out in (left_alone, tmp_path / "plain")]
    assert pictures[0] == pictures[1]
    assert outcome(left_alone) != outcome(tmp_path / "plain")


def test_such_a_run_that_is_killed_and_resumed_has_the_same_bytes(left_alone: Path, tmp_path: Path) -> None:
    died = tmp_path / "died"
    with pytest.raises(Killed):
        run(died, *AHEAD, algorithm=BOTH, die_at=4)
    run(died, *AHEAD, algorithm=BOTH, resume=True)
    assert outcome(died) == outcome(left_alone)
