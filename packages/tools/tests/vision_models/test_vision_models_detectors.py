import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image
from safetensors.torch import load_file, save_file

from saccade.errors import UserError
from saccade.vision_models.detectors import load_detector
from saccade.vision_models.kinds import Detection, DetectionRequest

KINDS = ("grounding_dino", "owlv2")


def request(image: Image.Image, *phrases: str, box: float = 0.01, text: float = 0.0) -> DetectionRequest:
    return DetectionRequest(image=image, phrases=phrases, box_threshold=box, text_threshold=text)


def rounded(detections: list[Detection]) -> list[tuple[str, list[float], float]]:
    # A thousandth of a pixel: what is computed together may differ in the last bits.
    found = [(one.phrase, [round(side, 3) for side in one.box.as_tuple()], round(one.score, 5)) for one in detections]
    return sorted(found, key=lambda one: (one[0], one[1]))


@pytest.mark.parametrize("kind", KINDS)
def test_things_are_found_under_the_phrases_that_were_asked(
    kind: str, checkpoints: Callable[[str], Path], picture: Image.Image
) -> None:
    (found,) = load_detector(checkpoints(kind)).detect_batch([request(picture, "red car", "tree")])
    assert found
    assert {one.phrase for one in found} <= {"red car", "tree"}
    assert all(0 < one.score < 1 and one.box.is_ordered for one in found)


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_is_answered_the_same_alone_and_in_company(
    kind: str, checkpoints: Callable[[str], Path], picture: Image.Image
) -> None:
    detector = load_detector(checkpoints(kind))
    requests = [
        request(picture, "red car", "tree"),
        request(picture.resize((100, 140)), "dog"),
        request(picture, "a rather long phrase", "x", "blue ball"),
    ]
    together = detector.detect_batch(requests)
    assert [rounded(found) for found in together] == [rounded(detector.detect_batch([one])[0]) for one in requests]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_below_a_threshold(kind: str, checkpoints: Callable[[str], Path], picture: Image.Image) -> None:
    detector = load_detector(checkpoints(kind))
    (found,) = detector.detect_batch([request(picture, "tree", "car")])
    middle = sorted(one.score for one in found)[len(found) // 2]
    (better,) = detector.detect_batch([request(picture, "tree", "car", box=middle)])
    assert rounded(better) == rounded([one for one in found if one.score > middle])
    assert detector.detect_batch([request(picture, "tree", "car", text=1.0)]) == [[]]


def test_a_phrase_that_does_not_fit_into_the_text_is_not_found(
    checkpoints: Callable[[str], Path], picture: Image.Image
) -> None:
    detector = load_detector(checkpoints("grounding_dino"))
    # Every letter is a token of the tiny model, and 256 fit.
    phrases = ["abcdefgh" * 8] * 4 + ["dog"]
    (found,) = detector.detect_batch([request(picture, *phrases)])
    assert found
    assert "dog" not in {one.phrase for one in found}


@pytest.mark.parametrize("kind", KINDS)
def test_many_threads_may_ask(kind: str, checkpoints: Callable[[str], Path], picture: Image.Image) -> None:
    detector = load_detector(checkpoints(kind))
    requests = [request(picture, phrase) for phrase in ("tree", "a long red car", "dog")] * 4
    alone = [rounded(detector.detect_batch([one])[0]) for one in requests[:3]]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda one: rounded(detector.detect_batch([one])[0]), requests))
    assert found == alone * 4


@pytest.mark.parametrize("kind", KINDS)
def test_no_request_is_no_work(kind: str, checkpoints: Callable[[str], Path]) -> None:
    assert load_detector(checkpoints(kind)).detect_batch([]) == []


def test_what_is_no_detector_is_refused_by_name(checkpoints: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="type 'sam', which is no detector; use one of GroundingDINO"):
        load_detector(checkpoints("sam"))
    with pytest.raises(UserError, match="is no directory; give a checkpoint directory"):
        load_detector(tmp_path / "none")
    with pytest.raises(UserError, match=r"holds no config\.json"):
        load_detector(tmp_path)


def test_a_checkpoint_that_lacks_weights_is_refused(checkpoints: Callable[[str], Path], tmp_path: Path) -> None:
    broken = shutil.copytree(checkpoints("owlv2"), tmp_path / "broken")
    weights = load_file(broken / "model.safetensors")
    save_file({name: value for name, value in weights.items() if "box_head" not in name}, broken / "model.safetensors")
    with pytest.raises(UserError, match=r"lacks \d+ of the model's weights \(box_head"):
        load_detector(broken)


def test_a_checkpoint_without_its_tokenizer_is_refused(checkpoints: Callable[[str], Path], tmp_path: Path) -> None:
    broken = shutil.copytree(checkpoints("grounding_dino"), tmp_path / "broken")
    for file in broken.glob("*token*"):
        file.unlink()
    (broken / "vocab.txt").unlink(missing_ok=True)
    with pytest.raises(UserError, match="tokenizer"):
        load_detector(broken)
    (broken / "config.json").write_text(json.dumps([]))
    with pytest.raises(UserError, match="type ''"):
        load_detector(broken)
