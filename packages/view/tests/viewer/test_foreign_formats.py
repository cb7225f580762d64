"""Files as other trainers and harnesses write them: what becomes of them, and what is said of what cannot be read.

Those below ``foreign/`` are true ones, written by the writers' own code with questions made up for it:
``verl/``, ``verl_validation/``: ``RayPPOTrainer._dump_generations`` of verl (b178a3cd);
``ms_swift/``, ``ms_swift_infer/``: ``swift.utils.JsonlWriter`` of ms-swift (3602360a), with the columns of its
``GRPOTrainer.log`` and the rows of ``SwiftInfer``;
``lmms_eval/``: ``EvaluationTracker.save_results_samples`` of lmms-eval (75571cfe).
"""

import base64
import io
import json
from pathlib import Path

import pytest
from foreign_files import copied, opened, terms, written
from PIL import Image

from saccade.errors import UserError
from saccade.types import Answer, ImageRef, Json, ToolCall
from saccade.viewer.store.foreign_boxes import boxes_in, in_pixels
from saccade.viewer.store.segment_files import load_segment
from saccade.viewer.store.sources import find_sources

IMAGE = ImageRef(hash="0" * 64, width=200, height=100)


def png(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (9, 90, 9)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize(("name", "step", "count"), [("verl", 20, 2), ("verl_validation", 0, 1)])
def test_dumps_of_verl(name: str, step: int, count: int, tmp_path: Path) -> None:
    run, attempts = opened(copied(name, tmp_path), tmp_path / "cache")
    assert (run.source.kind, len(attempts), run.notes) == ("verl", count, {})
    assert set(run.table.view().columns["step"]) == {step}
    first = attempts[0]
    assert (first.task.question, first.task.answer) == ("<image>\nWhat is written on the sign?", "EXIT")
    assert terms(first)["acc"] == (1.0 if step else 0.0)
    if step:
        call = first.trajectory.turns[0].action
        assert call == ToolCall(name="image_zoom_in_tool", arguments={"bbox_2d": [120, 40, 260, 90], "label": "sign"})
        assert first.trajectory.answer == "EXIT"


def test_completions_of_ms_swift_have_every_step_and_reward(tmp_path: Path) -> None:
    run, attempts = opened(copied("ms_swift", tmp_path), tmp_path / "cache")
    assert (run.source.kind, len(attempts)) == ("ms-swift", 8)
    assert [one.trajectory.stream for one in attempts] == ["step 1"] * 4 + ["step 2"] * 4
    assert len({one.task.id for one in attempts}) == 1
    second = attempts[5]
    assert (second.task.question[-24:], second.trajectory.answer) == ("How many plates are red?", "3")
    assert terms(second) == {"Accuracy": 0.0, "Format": 0.0}
    assert second.advantages == (-0.866,)
    assert run.table.view().columns["sample"].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_metrics_and_settings_beside_are_left_out_and_damaged_lines_are_not(tmp_path: Path) -> None:
    folder = copied("ms_swift", tmp_path)
    (folder / "logging.jsonl").write_text('{"loss": 0.5}\n')
    (folder / "args.json").write_text('{\n  "seed": 1\n}\n')
    (folder / "cut.jsonl").write_text('{"step": ["1"], "prom\n')
    run, attempts = opened(folder, tmp_path / "cache")
    assert (len(attempts), list(run.notes)) == (8, ["cut.jsonl"])


def test_results_of_ms_swift_have_their_pictures_and_regions(tmp_path: Path) -> None:
    folder = copied("ms_swift_infer", tmp_path)
    (folder / "sign.png").write_bytes(png(40, 30))
    run, [attempt] = opened(folder, tmp_path / "cache")
    assert (run.source.kind, attempt.task.answer) == ("ms-swift infer", "at the door")
    assert [(one.width, one.height) for one in attempt.task.images] == [(40, 30)]
    [target], [box] = attempt.task.targets, attempt.trajectory.turns[0].boxes
    assert (target.label, target.box.as_tuple()) == ("sign", (8.0, 4.0, 28.0, 22.0))
    assert box.box is not None
    assert box.box.as_tuple() == (10, 5, 30, 20)


def test_samples_of_lmms_eval(tmp_path: Path) -> None:
    run, [right, wrong, first, second] = opened(copied("lmms_eval", tmp_path), tmp_path / "cache")
    view = run.table.view()
    assert (run.source.kind, view.words["stage"], set(view.columns["step"])) == ("lmms-eval", ("plates",), {0})
    assert (right.task.answer, right.trajectory.answer, terms(right)) == ("red", "Red", {"exact_match": 1.0})
    assert run.table.view().columns["right"].tolist() == [1, 0, -1, -1]
    # What the model said stands in resps where a filter changed it.
    assert wrong.trajectory.turns[0].thought == "blue?"
    assert (first.trajectory.answer, second.trajectory.answer, terms(second)) == ("a", "b", {"plates_acc": 0.5})
    assert "an address elsewhere" in " ".join(run.notes.values())


def test_messages_in_the_forms_of_openai_and_anthropic(tmp_path: Path) -> None:
    raw = base64.b64encode(png(8, 6)).decode()
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "a.png").write_bytes(png(20, 10))
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + raw}}
    chat = {
        "id": "chat",
        "messages": [
            {"role": "user", "content": [url, {"type": "text", "text": "Which?"}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"function": {"name": "zoom", "arguments": '{"bbox": [0.25, 0.5, 0.75, 1.0]}'}}],
            },
            {"role": "tool", "content": [{"type": "image_url", "image_url": {"url": "a.png"}}]},
            {"role": "assistant", "content": "B"},
        ],
        "rewards": {"accuracy": 1.0, "format": 0.5},
        "correct": True,
    }
    anthropic = {
        "id": "anthropic",
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": raw}}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "tool_use", "name": "zoom", "input": {"x": 1}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "seen"}]}]},
        ],
    }
    batch = {
        "custom_id": "batch",
        "body": {"messages": [{"role": "user", "content": "Hi?"}]},
        "response": {"body": {"choices": [{"message": {"role": "assistant", "content": "Ho"}}]}},
    }
    listed = {
        "id": "listed",
        "messages": [
            {"role": "user", "content": "<image>What?"},
            {"role": "assistant", "content": "<tool_call>{}</tool_call>"},
            {"role": "tool", "content": "<image>"},
        ],
        "images": ["a.png", {"bytes": raw}],
    }
    file = written(tmp_path / "m" / "m.jsonl", chat, anthropic, batch, listed)
    run, attempts = opened(file, tmp_path / "cache")
    one, two, three, four = attempts
    assert run.notes == {}
    assert [(image.width, image.height) for image in one.task.images] == [(8, 6)]
    assert one.trajectory.turns[0].action == ToolCall(name="zoom", arguments={"bbox": [0.25, 0.5, 0.75, 1.0]})
    assert one.trajectory.turns[0].observation is not None
    assert [image.width for image in one.trajectory.turns[0].observation.images] == [20]
    assert (terms(one), run.table.view().columns["right"][0]) == ({"accuracy": 1.0, "format": 0.5}, 1)
    assert two.task.images == one.task.images
    assert (two.trajectory.turns[0].thought, two.trajectory.turns[0].result is not None) == ("hm", True)
    assert (three.task.id, three.task.question, three.trajectory.answer) == ("batch", "Hi?", "Ho")
    # Each mark takes the next of the pictures that stand beside the messages.
    assert [image.width for image in four.task.images] == [20]
    assert four.trajectory.turns[0].observation is not None
    assert [image.width for image in four.trajectory.turns[0].observation.images] == [8]


def test_a_json_list_is_read_like_lines_and_opened_by_its_place(tmp_path: Path) -> None:
    rows: list[Json] = [
        {"messages": [{"role": "user", "content": f"é {number}?"}, {"role": "assistant", "content": str(number)}]}
        for number in range(3)
    ]
    file = tmp_path / "list.json"
    file.write_text(json.dumps(rows, ensure_ascii=False, indent=2), encoding="utf-8")
    _, attempts = opened(file, tmp_path / "cache")
    assert [(one.task.question, one.trajectory.answer) for one in attempts] == [
        (f"é {number}?", str(number)) for number in range(3)
    ]


def test_what_cannot_be_read_is_counted_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(png(5, 5))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "link.png").symlink_to(tmp_path / "secret.png")
    asked = {"role": "user", "content": "?"}
    pictures = [
        "../secret.png",
        str(tmp_path / "secret.png"),
        "link.png",
        "https://x.org/a.png",
        "gone.png",
        "data:image/png;base64,###",
    ]
    file = written(
        tmp_path / "run" / "a.jsonl", {"messages": [asked], "images": pictures}, {"other": 1}, {"messages": []}
    )
    with file.open("a") as more:
        more.write("no json\n")
    run, [attempt] = opened(file, tmp_path / "cache")
    assert attempt.task.images == ()
    [segment] = (tmp_path / "cache").rglob("*.arrow")
    notes = " ".join(load_segment(segment).info.notes)
    assert "a.jsonl: pictures that are not shown: 3 outside of the file's folder; 1 " in notes
    for why in ("an address elsewhere, which is never followed", "not there, or no file that can be read", "no base64"):
        assert f"; 1 {why}" in notes
    assert "3 of 4 records are left out" in notes
    assert "a.jsonl:2: no record of messages" in notes
    assert "a.jsonl:3: no messages" in notes
    assert "a.jsonl:4: no JSON" in notes
    assert run.notes


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ('{"bbox_2d": [20, 10, 180, 90], "label": "a"}', (20, 10, 180, 90)),
        ('{"bbox_2d": [100, 100, 500, 900]}', (20, 10, 100, 90)),
        ('{"bbox_2d": [0.1, 0.1, 0.5, 0.9]}', (20, 10, 100, 90)),
        ('{"box_2d": [100, 100, 900, 500]}', (20, 10, 100, 90)),
        ('{"bbox": [60, 50, 40, 30]}', (60, 50, 100, 80)),
        ("<|box_start|>(100,100),(500,900)<|box_end|>", (20, 10, 100, 90)),
        ("<box>[[100, 100, 500, 900]]</box>", (20, 10, 100, 90)),
        ("<loc0512><loc0256><loc1024><loc0512> cat", (50, 50, 100, 100)),
    ],
)
def test_boxes_of_the_usual_conventions_are_in_pixels(text: str, box: tuple[float, ...]) -> None:
    [mention] = boxes_in(f"It is at {text}.", IMAGE)
    assert mention.box is not None
    assert mention.box.as_tuple() == pytest.approx(box)
    assert mention.text in text


def test_numbers_without_a_frame_that_fits_are_no_box() -> None:
    assert in_pixels("bbox_2d", [100, 100, 5000, 900], IMAGE) is None
    assert boxes_in("nothing [1, 2] here", IMAGE) == ()


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04cos\nsystem\n")
    with pytest.raises(UserError, match="never opened"):
        find_sources((tmp_path / "a.pkl",))


def test_answers_outside_of_calls_stay_what_they_were(tmp_path: Path) -> None:
    rows = [{"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "<answer> x </answer>"}]}]
    _, [attempt] = opened(written(tmp_path / "a.jsonl", *rows), tmp_path / "cache")
    assert attempt.trajectory.turns[0].action == Answer(text="x")
