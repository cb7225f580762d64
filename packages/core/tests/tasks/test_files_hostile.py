"""Whatever a row holds, it becomes a task or a bad row."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks
from saccade.tasks.rows.layouts import LAYOUTS

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(
        [
            "red.png",
            "<image>",
            "<answer>x</answer>",
            "[1, 2, 3, 4]",
            "[[1,",
            "<bbox>",
            '[{"role": "user"}]',
            "A",
            "3",
            "a|b",
            "../x",
            "image",
            "user",
            "gpt",
        ]
    )
)
WORDS = st.sampled_from(
    [
        "bbox",
        "label",
        "image_index",
        "role",
        "from",
        "content",
        "value",
        "type",
        "text",
        "bytes",
        "path",
        "video",
        "fps",
        "bbox_2d",
        "image_url",
        "url",
        "user",
        "assistant",
        "ref",
    ]
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)
KEYS = (
    "id question problem query question_type prompt answer image images choices options answer_kind tolerance"
    " difficulty boxes family"
    " target_instances reward_model extra_info data_source conversations messages videos video frames fps nframes"
    " frame_times_s event_s video_start data_type path solution objects response instruction output history texts"
    " completion label prefix suffix A B box_frame min_iou accepted ground_truth image_1 system"
)
EXPORTED = {"answer_kind": "exact", "tolerance": 0.0, "choices": [], "accepted": []}
ROWS = st.dictionaries(st.sampled_from(KEYS.split()), VALUES, max_size=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows")
    Image.new("RGB", (8, 8), "red").save(path / "red.png")
    return path


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(ROWS, min_size=1, max_size=5),
    layout=st.sampled_from(["auto", *LAYOUTS]),
)
def test_any_rows_are_tasks_or_bad_rows(folder: Path, rows: list[dict[str, object]], layout: str) -> None:
    sound: dict[str, object] = {"id": "sound", "question": "?", "problem": "?", "answer": "x", "image": "red.png"}
    sound["prompt"] = [{"role": "user", "content": "?"}]
    sound["solution"] = "<answer>x</answer>"
    sound["messages"] = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "x"}]
    sound |= {"reward_model": {"ground_truth": "x"}, "instruction": "?", "output": "x"}
    if layout == "exported":
        del sound["problem"]
        sound["answer"] = json.dumps({"answer": "x", "question": "?", **EXPORTED})
    path = folder / "rows.json"
    path.write_text(json.dumps([sound, *rows]))
    result = read_tasks(path, media=MediaStore(), layout=layout, skip_bad_rows=True)
    assert result.tasks[0].id == "sound"
    assert len(result.tasks) + len(result.skipped) == 1 + len(rows)
    assert all(bad.why for bad in result.skipped)
