"""Contamination: copies found by pixels and by look, questions by words, and what is not found said."""

import io
import json
from pathlib import Path

from PIL import Image, ImageDraw, ImageOps

from saccade.cli import run_command
from saccade.evaluation.contamination import CANNOT_FIND, contamination
from saccade.evaluation.picture_likeness import MAX_DISTANCE, trimmed, views_of
from saccade.media.store import MediaStore
from saccade.tasks import generate
from saccade.types import Task

MEDIA = MediaStore()


def drawn(index: int, split: str = "train") -> Task:
    return generate("chart_bars", split=split, index=index, seed=1, media=MEDIA, difficulty=0.8).task  # type: ignore[arg-type]


def asked(name: str, picture: Image.Image, question: str = "What is it?") -> Task:
    image = MEDIA.add(picture)
    return Task(id=name, family="mine", question=question, answer="x", answer_kind="text", images=(image,))


def jpeg(picture: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=75)
    return Image.open(buffer).convert("RGB")


def grid(count: int, side: int, colour: tuple[int, int, int], *, odd: int = -1) -> Image.Image:
    """Squares on a grey ground, so many in each direction; one of them green."""
    picture = Image.new("RGB", (256, 256), (110, 110, 110))
    draw = ImageDraw.Draw(picture)
    step = 256 // count
    for place in range(count**2):
        x, y = (step - side) // 2 + step * (place % count), (step - side) // 2 + step * (place // count)
        draw.rectangle((x, y, x + side - 1, y + side - 1), fill=(20, 170, 40) if place == odd else colour)
    return picture


def test_copies_are_found_by_their_look_and_other_pictures_of_the_kind_are_not() -> None:
    train = [drawn(index) for index in range(12)]
    picture = MEDIA.get(train[3].images[0])
    test = [
        asked("same", picture),
        asked("jpeg", jpeg(picture)),
        asked("half", picture.resize((picture.width // 2, picture.height // 2))),
        asked("black border", ImageOps.expand(picture, border=10, fill="black")),
        asked("white border", ImageOps.expand(picture, border=17, fill="white")),
        *(drawn(index, "held_out") for index in range(6)),
    ]
    found = contamination(train, test, media=MEDIA)
    assert found.by_pixels == ("same",)
    assert found.by_look == ("same", "jpeg", "half", "black border", "white border")
    assert {pair.train.hash for pair in found.pairs} == {train[3].images[0].hash}
    assert [pair.is_identical for pair in found.pairs] == [True, False, False, False, False]


def test_a_grid_as_bright_as_its_ground_is_told_by_its_colour() -> None:
    """Grey, it is flat but for a speck, which every other grid has as well."""
    grids = [grid(4, 28, (200, 74, 60), odd=odd) for odd in (9, 3, 10)]
    for one in grids:
        one.putpixel((250, 3), (255, 255, 255))
    train = [asked(f"grid {number}", one) for number, one in enumerate(grids)]
    test = [
        asked("jpeg", jpeg(grids[0])),
        asked("half", grids[0].resize((128, 128))),
        asked("moved", grid(4, 28, (200, 74, 60), odd=12)),
    ]
    found = contamination(train, test, media=MEDIA)
    assert found.by_look == ("jpeg", "half")
    assert {pair.train.hash for pair in found.pairs} == {train[0].images[0].hash}


def test_a_fine_grid_whose_bits_jpeg_decides_is_told_by_the_colours_of_its_parts() -> None:
    picture, other = (grid(12, side, (40, 60, 50)) for side in (5, 7))
    bits = [
        sum((one ^ another).bit_count() for one, another in zip(first, second))
        for first in views_of(picture).hashes
        for second in views_of(jpeg(picture)).hashes
    ]
    assert min(bits) > MAX_DISTANCE
    train = [asked("fine", picture), asked("coarse", other)]
    found = contamination(train, [asked("jpeg", jpeg(picture))], media=MEDIA)
    assert [pair.train.hash for pair in found.pairs] == [train[0].images[0].hash]


def test_the_same_words_are_a_question_only_with_the_same_picture() -> None:
    first, second = drawn(1), drawn(2)
    picture, other = MEDIA.get(first.images[0]), MEDIA.get(second.images[0])
    train = [asked("t", picture, "What is the  highest bar?")]
    test = [
        asked("both", jpeg(picture), "what is the highest bar"),
        asked("words", other, "What is the highest bar?"),
        asked("neither", other, "Why?"),
    ]
    found = contamination(train, test, media=MEDIA)
    assert (found.by_words, found.by_look, found.by_both) == (("both", "words"), ("both",), ("both",))
    assert CANNOT_FIND in found.describe()


def test_pictures_of_one_colour_are_compared_by_pixels_alone() -> None:
    train = [asked("red", Image.new("RGB", (30, 30), "red"))]
    test = [asked("blue", Image.new("RGB", (30, 30), "blue")), asked("red too", Image.new("RGB", (30, 30), "red"))]
    found = contamination(train, test, media=MEDIA)
    assert (found.by_look, found.plain_pictures) == (("red too",), 2)


def test_a_border_is_cut_off_and_a_picture_without_one_is_left() -> None:
    picture = Image.new("RGB", (40, 30), "white")
    ImageDraw.Draw(picture).rectangle((10, 5, 20, 25), fill="black")
    assert trimmed(picture).size == (11, 21)
    assert trimmed(Image.new("RGB", (40, 30), "white")).size == (40, 30)


def test_the_command_writes_both_pictures_of_each_pair(tmp_path: Path, capsys: object) -> None:
    picture = MEDIA.get(drawn(4).images[0])
    for name, image in (("train", picture), ("test", jpeg(picture))):
        image.save(tmp_path / f"{name}.png")
        row = {"id": name, "question": "What is it?", "answer": "x", "image": f"{name}.png"}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    command = ["contamination", str(tmp_path / "train.jsonl"), str(tmp_path / "test.jsonl"), "--out"]
    assert run_command([*command, str(tmp_path / "out")]) == 0
    found = json.loads((tmp_path / "out" / "pairs.json").read_bytes())
    [pair] = found["pairs"]
    page = (tmp_path / "out" / "pairs.html").read_text()
    for name in (pair["test"], pair["train"]):
        assert f"pictures/{name}.png" in page
        assert (tmp_path / "out" / "pictures" / f"{name}.png").exists()
    assert run_command([*command, str(tmp_path / "out")]) == 2
