"""Curated examples written, read back and refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.curation.examples import code_kind, example_row, read_examples
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks
from saccade.tasks.procedural import generate
from saccade.testing.tasks import tiny_example
from saccade.types import Answer, Example, ExpertTurn, Json, ToolCall


def written(directory: Path, examples: list[Example], media: MediaStore) -> Path:
    for example in examples:
        for image in example.task.images:
            media.export(image, directory / "images")
    rows = [example_row(one, level="hard", way="play", kind=code_kind(one)) for one in examples]
    file = directory / "examples.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def solved(media: MediaStore) -> list[Example]:
    families = ("colour_dots", "dot_table", "colour_bars")
    return [generate(family, split="train", index=0, seed=0, media=media) for family in families]


def test_examples_are_read_as_they_were_written(tmp_path: Path, solved: list[Example], media: MediaStore) -> None:
    file = written(tmp_path, solved, media)
    fresh = MediaStore()
    for path in (file, tmp_path):
        read = read_examples(path, fresh)
        assert [example.turns for example in read] == [example.turns for example in solved]
        for example, original in zip(read, solved):
            # Masks and the source's name have no place in a file of questions.
            wanted = replace(
                original.task,
                targets=tuple(replace(target, mask=None, point=target.box.center) for target in original.task.targets),
                source="examples",
            )
            assert example.task == wanted
            assert all(image.hash in fresh for image in example.task.images)


def test_the_file_is_a_file_of_questions_too(tmp_path: Path, solved: list[Example], media: MediaStore) -> None:
    read = read_tasks(written(tmp_path, solved, media), media=MediaStore())
    assert [(task.id, task.answer) for task in read.tasks] == [(one.task.id, one.task.answer) for one in solved]


def test_a_video_keeps_all_its_frames_their_times_and_its_event(tmp_path: Path, media: MediaStore) -> None:
    drawn = generate("video_event", split="train", index=0, seed=0, media=media)
    frames = tuple(media.add(Image.new("RGB", (40, 30), (index, 0, 0))) for index in range(40))
    task = replace(
        drawn.task, images=frames, frame_times_s=tuple(index / 4 for index in range(40)), event_s=(1.0, 2.5), targets=()
    )
    turn = ExpertTurn(thought="", action=Answer(text=task.answer))
    read = read_examples(written(tmp_path, [Example(task=task, turns=(turn,))], media), MediaStore())[0].task
    assert (read.images, read.frame_times_s, read.event_s) == (frames, task.frame_times_s, (1.0, 2.5))


def test_white_space_in_code_and_thoughts_survives(tmp_path: Path, solved: list[Example], media: MediaStore) -> None:
    code = "  \nif True:\n\tprint('é\\n')\n\n"
    call = ToolCall(name="execute_python_code", arguments={"code": code})
    example = Example(
        task=solved[0].task,
        turns=(
            ExpertTurn(thought=" a\n", action=call),
            ExpertTurn(thought="", action=Answer(text=solved[0].task.answer)),
        ),
    )
    assert read_examples(written(tmp_path, [example], media), MediaStore())[0].turns == example.turns


def test_only_python_can_be_written(media: MediaStore) -> None:
    with pytest.raises(ValueError, match="not crop"):
        example_row(tiny_example(media), level="hard", way="play", kind=None)


ANSWER: dict[str, Json] = {"thought": "", "answer": "wrong"}


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        (None, "turns: is missing or empty"),
        ([], "turns: is missing or empty"),
        ("code", "turns: must be a list of turns, not str"),
        ([5], "turns[0]: must be an object with keys, not int"),
        ([{"thought": "hm"}], "turns[0]: must have thought and either code or answer; it has thought"),
        ([{"code": "1", "answer": "2"}], "turns[0]: must have thought and either code or answer; it has answer, code"),
        ([{"code": 5}], "turns[0].code: must be text, not int"),
        ([{"thought": None, "code": "1"}], "turns[0].thought: must be text, not nothing"),
        ([{"code": "\ud800"}], "turns[0].code: holds half a surrogate pair, which is no text"),
        ([{"code": "1"}], "turns[0]: is the last and gives no answer"),
        ([ANSWER, ANSWER], "turns[0]: answers, and other turns follow; the answer is the last turn"),
        ([{"code": "1"}, ANSWER], "turns[1]: answers 'wrong', and the right answer is"),
    ],
)
def test_rows_that_cannot_be_imitated_are_named(
    tmp_path: Path, solved: list[Example], media: MediaStore, turns: Json, why: str
) -> None:
    file = written(tmp_path, solved, media)
    good, changed, *_ = [json.loads(line) for line in file.read_text().splitlines()]
    changed["turns"] = turns
    file.write_text(f"{json.dumps(good)}\n\n{json.dumps(changed)}\n")
    with pytest.raises(UserError) as caught:
        read_examples(tmp_path, MediaStore())
    assert str(caught.value).startswith(f"{file}: 1 of 2 examples cannot be used\n  {file}, row 3: {why}")


def test_an_image_that_has_changed_is_noticed(tmp_path: Path, solved: list[Example], media: MediaStore) -> None:
    file = written(tmp_path, solved[:1], media)
    [image] = (tmp_path / "images").iterdir()
    Image.new("RGB", (256, 256)).save(image)
    with pytest.raises(UserError, match="row 1: images: are no longer those of the example"):
        read_examples(file, MediaStore())
    image.unlink()
    with pytest.raises(UserError, match="row 1: images"):
        read_examples(file, MediaStore())


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such file"):
        read_examples(tmp_path, MediaStore())
    with pytest.raises(UserError, match="curated examples are JSON lines"):
        read_examples(tmp_path / "examples.json", MediaStore())
    (tmp_path / "examples.jsonl").write_text('{"question": "?"}\n')
    with pytest.raises(UserError, match="row 1"):
        read_examples(tmp_path, MediaStore())


def test_the_kind_of_an_example_without_code_is_none(solved: list[Example]) -> None:
    answer = ExpertTurn(thought="", action=Answer(text="5"))
    assert code_kind(Example(task=solved[0].task, turns=(answer,))) is None
    assert code_kind(solved[0]) == "compute"
