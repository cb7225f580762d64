"""Perception: hits of attention on the gold region, by hand-made shares and by a tiny real model."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from saccade.codec.codecs import plain_json
from saccade.errors import UserError
from saccade.evaluation.perception import Perception, focused, measured_perception, peak_inside, perception
from saccade.evaluation.statistics import share_right
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.attention_share import AttentionShare, attention_shares
from saccade.models.vlm import VisionLanguageModel
from saccade.types import Answer, Attempt, ImageRef, Message, Score, Segment, Target, Task, Term, Trajectory, Turn

TASK = Task(id="one", family="pages", question="?", answer="yes", answer_kind="exact", images=())


def attempt(answer: str) -> Attempt:
    turn = Turn(index=0, text="", thought="", action=Answer(text=answer), is_well_formed=True)
    played = Trajectory(
        task_id="one",
        family="pages",
        stream="evaluation",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered",
        score=Score(terms=(Term("answer", float(answer == "yes")),)),
    )
    return Attempt(task=TASK, trajectory=played)


def share(inside: float, *, image: float = 0.4, peak: float = 0.0) -> AttentionShare:
    """Targets on a quarter of one of two images of the same size; the other half of the attention is on the other."""
    return AttentionShare(
        image=image, inside=inside, outside=image / 2 - inside, area=0.25, whole_area=0.125, peak=peak
    )


HIT, MISS = share(0.1), share(0.05)
"""Twice the area's share among all images, and once."""


def test_the_measures_by_hand() -> None:
    attempts = [attempt(answer) for answer in ("yes", "yes", "no", "yes", "no", "no")]
    shares = [HIT, HIT, HIT, MISS, MISS, None]
    assert perception(attempts, shares) == Perception(
        rate=share_right([True] * 3 + [False] * 2),
        v_precision=share_right([True, True, False]),
        v_recall=share_right([True, True, False]),
        right_when_missed=share_right([True, False]),
        unjudged=1,
    )


def test_a_hit_has_one_and_a_half_times_the_attention_of_its_area() -> None:
    rule = focused()
    assert [rule(share(inside)) for inside in (0.0749, 0.075, 0.2)] == [False, True, True]
    assert [focused(1.0)(share(inside)) for inside in (0.049, 0.05)] == [False, True]
    assert rule(AttentionShare(image=0.4)) is None
    assert rule(share(0.0, image=0.0)) is None


def test_attention_on_another_page_is_a_miss_among_all_images_only() -> None:
    # A tenth of the attention on images is on the page with the target, all of it inside.
    elsewhere = AttentionShare(image=0.4, inside=0.04, outside=0.0, area=0.25, whole_area=0.125, peak=0.0)
    assert focused()(elsewhere) is False
    assert focused(among="images with targets")(elsewhere) is True


def test_the_peak_may_decide() -> None:
    assert [peak_inside()(share(0.0, peak=peak)) for peak in (0.0, 0.49, 0.5, 1.0)] == [False, False, True, True]
    assert peak_inside(1.0)(share(0.2, peak=0.9)) is False
    assert peak_inside()(AttentionShare(image=0.4)) is None


def test_where_nothing_can_be_said_nothing_is() -> None:
    assert perception([], []) is None
    assert perception([attempt("yes")], [None]) is None
    assert perception([attempt("yes")], [AttentionShare(image=0.3)]) is None
    failed = attempt("yes")
    failed = replace(failed, trajectory=replace(failed.trajectory, status="failed", score=None))
    found = perception([failed, attempt("no")], [HIT, MISS])
    assert found is not None
    assert (found.unjudged, found.rate.n, found.rate.accuracy) == (1, 1, 0.0)
    assert (found.v_precision.accuracy, found.v_recall.accuracy) == (None, None)
    assert plain_json(found)["v_recall"] == {"accuracy": None, "ci95": [0.0, 1.0], "n": 0}


def test_wrong_rules_and_lists_are_refused() -> None:
    with pytest.raises(UserError, match="factor=0 calls everything a hit"):
        focused(0)
    with pytest.raises(UserError, match="among='pages' is neither"):
        focused(among="pages")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"covered=0\.0 is no share"):
        peak_inside(0.0)
    with pytest.raises(UserError, match="1 shares of attention for 2 attempts"):
        perception([attempt("yes")] * 2, [HIT])


# A model with random weights


@pytest.fixture(scope="module")
def model() -> VisionLanguageModel:
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48)
    texts = ["Which texture is on the red plate?", "system\n user\n assistant\n tool\n"] * 8
    return tiny_model(texts, MediaStore(), size=size, numbers=range(0, 1001, 125), seed=3)


def looking(model: VisionLanguageModel, *boxes: tuple[Box, int]) -> Attempt:
    """One turn about two pages; boxes with the number of their image, from 0."""
    rng = np.random.default_rng(0)
    images: tuple[ImageRef, ...] = tuple(
        model.media.add(Image.fromarray(rng.integers(0, 255, (128, 256, 3), dtype=np.uint8))) for _ in range(2)
    )
    prompt = model.chat.prompt([Message(role="user", parts=(images[0], "Which?", images[1]))])
    task = replace(
        TASK,
        images=images,
        targets=tuple(Target(label="it", box=box, point=box.center, image_index=index) for box, index in boxes),
    )
    segments = (
        Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images),
        Segment(role="action", turn=0, ids=(*model.chat.encode("<think>look</think>"), model.eos_id)),
    )
    return Attempt(task=task, trajectory=replace(attempt("yes").trajectory, segments=segments))


def cells(model: VisionLanguageModel, image: ImageRef) -> list[Box]:
    """The cell of each token of an image."""
    (block,) = model.view.token_blocks(image)
    width, height = image.width / block.columns, image.height / block.rows
    return [
        Box(column * width, row * height, (column + 1) * width, (row + 1) * height)
        for row in range(block.rows)
        for column in range(block.columns)
    ]


def test_a_models_attention_hits_the_cell_that_it_looks_at_most(model: VisionLanguageModel) -> None:
    blind = looking(model)
    places = [(box, index) for index in range(2) for box in cells(model, blind.task.images[index])]
    shares = [attention_shares(model, [looking(model, place)])[0] for place in places]
    on_cells = torch.tensor([one.inside for one in shares if one is not None], dtype=torch.float64)
    assert len(on_cells) == len(places)
    whole = attention_shares(model, [blind])[0]
    assert whole is not None
    assert on_cells.sum().item() == pytest.approx(whole.image, abs=1e-6)
    most, least = int(on_cells.argmax()), int(on_cells.argmin())
    assert [one.peak for one in shares if one is not None] == [float(place == most) for place in range(len(places))]
    hits = [looking(model, places[most]), looking(model, places[least])]
    for rule in (focused(1.0), peak_inside()):
        found = measured_perception(model, [*hits, blind], rule)
        assert found is not None
        assert (found.rate, found.v_recall, found.unjudged) == (
            share_right([True, False]),
            share_right([True, False]),
            1,
        )


def test_all_of_the_images_is_no_focus(model: VisionLanguageModel) -> None:
    everything = looking(model, (Box(0, 0, 256, 128), 0), (Box(0, 0, 256, 128), 1))
    (one,) = attention_shares(model, [everything])
    assert one is not None
    assert (one.whole_focus, one.peak) == (pytest.approx(1.0), 1.0)
    found = measured_perception(model, [everything])
    assert found is not None
    assert found.rate.accuracy == 0.0
