"""Each published layout is read as its authors mean it, and what is left out is said."""

import base64
import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from published_rows import AUDITED, BASE64, FOUND, HELD_BACK, PNG, Published, png
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks


def with_pictures(value: object, folder: Path) -> object:
    if isinstance(value, dict):
        return {key: with_pictures(inner, folder) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_pictures(inner, folder) for inner in value]
    if value == PNG:
        return png()
    if isinstance(value, str):
        return value.replace(BASE64, base64.b64encode(png()).decode()).replace("{folder}", str(folder))
    return value


def write(folder: Path, row: dict[str, object]) -> Path:
    """As JSON lines, or as parquet where the row holds bytes."""
    for name in ("a", "b"):
        (folder / f"{name}.png").write_bytes(png())
    filled = with_pictures(row, folder)
    try:
        text = json.dumps(filled)
    except TypeError:
        pq.write_table(pa.Table.from_pylist([filled]), folder / "rows.parquet")
        return folder / "rows.parquet"
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    return folder / "rows.jsonl"


ALL = AUDITED | FOUND | HELD_BACK


@pytest.mark.parametrize("one", ALL.values(), ids=ALL.keys())
def test_a_published_row_is_read_as_it_is_meant(
    tmp_path: Path, one: Published, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    (task,) = read_tasks(write(tmp_path, one.row), media=MediaStore()).tasks
    read = (task.question, task.answer, task.answer_kind, len(task.images), task.choices)
    assert read == (one.question, one.answer, one.kind, one.images, one.choices)
    said = [record.getMessage() for record in caplog.records if "left out:" in record.getMessage()]
    assert len(said) == bool(one.left_out)
    assert one.left_out in "".join(said)
    assert ("taken to be in" in caplog.text) == (one.kind == "boxes" and "objects" not in one.row)


@pytest.mark.parametrize(
    ("row", "hint"),
    [
        (
            {"q": "?", "gold": "red", "img": "a.png"},
            "rename `q` to `question`, rename `gold` to `answer`, rename `img` to `image`",
        ),
        ({"Question": "?", "Answer": "red"}, "rename `Question` to `question`, rename `Answer` to `answer`"),
        ({"question": "?", "label": "red"}, "answer: there is no answer; rename `label` to `answer`"),
        (
            {"prompt": {"box": [], "point": []}, "image": "a.png"},
            "the nearest layout is trl (prompt, solution, and images): add `solution`",
        ),
        ({"prompt": "?", "chosen": "a", "rejected": "b"}, "pairs of preferences have no right answer"),
        ({"chats": [{"role": "user"}], "image": "a.png"}, "rename `chats` to `conversations`"),
    ],
)
def test_a_refusal_names_the_renaming_that_would_fit(tmp_path: Path, row: dict[str, object], hint: str) -> None:
    with pytest.raises(UserError) as caught:
        read_tasks(write(tmp_path, row), media=MediaStore())
    assert hint in str(caught.value)


def test_an_answer_that_mixes_boxes_with_words_is_refused(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "<image>Open it"},
        {"role": "assistant", "content": "click(start_box='<bbox>')"},
    ]
    row: dict[str, object] = {
        "messages": messages,
        "images": ["a.png"],
        "objects": {"ref": [], "bbox": [[61, 22, 70, 30]]},
    }
    with pytest.raises(UserError, match="objects: the answer mixes boxes with words"):
        read_tasks(write(tmp_path, row), media=MediaStore())
