"""Files of other trainers: a log that inspect wrote, lines as verl and verifiers write them, messages by a map."""

import base64
import io
import json
import zipfile
from pathlib import Path

import pytest
from PIL import Image
from view_client import only_run, viewing

from saccade.errors import UserError
from saccade.types import Answer, ToolCall
from saccade.viewer.store.collection import Collection
from saccade.viewer.store.field_map import FieldMap
from saccade.viewer.store.sources import find_sources

INSPECT_LOG = Path(__file__).parent / "foreign" / "colours.eval"
"""Two samples of inspect 0.3.285 with its mock model, a tool and pictures; its zip is packed with Zstandard."""


def picture(colour: tuple[int, int, int]) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (12, 8), colour).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def test_a_log_of_inspect_is_shown_with_its_pictures_calls_and_scores(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "colours.eval").write_bytes(INSPECT_LOG.read_bytes())
    with viewing(tmp_path / "logs", cache=tmp_path / "cache") as (asked, viewer):
        run = only_run(viewer)
        [row, other] = asked.get(f"/api/runs/{run.id}/trajectories?sort=order").json()["rows"]
        assert (row["stage"], row["task"], row["right"], row["tools"]) == ("colours", "q0", True, ["crop"])
        assert (other["right"], other["expected"], other["answer"]) == (False, "blue", "It is red")
        scene = asked.get(f"/api/runs/{run.id}/trajectories/{row['id']}").json()
        assert [one["key"] for one in scene["pictures"]] == ["q0", "t1.0"]
        shown = asked.get(f"/media/{run.id}/{row['image']}.png")
        assert Image.open(io.BytesIO(shown.content)).size == (40, 30)
        first, last = run.open(row["id"]).attempt.trajectory.turns
        assert first.action == ToolCall(name="crop", arguments={"x1": 1, "y1": 2, "x2": 10, "y2": 20})
        assert last.action == Answer(text="It is red")


def test_lines_of_verl_become_turns_at_the_answers_of_tools(tmp_path: Path) -> None:
    folder = tmp_path / "rollout"
    folder.mkdir()
    output = (
        '<think>closer</think><tool_call>{"name": "zoom", "arguments": {"bbox_2d": [1, 2, 3, 4]}}</tool_call>\n'
        "user\n<tool_response>\nzoomed\n</tool_response>\nassistant\n<answer>4</answer>"
    )
    entry = {"input": "system\nHelp.\nuser\nHow many?\nassistant\n", "output": output, "gts": "4", "score": 1.0}
    lines = [
        {**entry, "step": 12, "acc": True, "format_reward": 0.5},
        {**entry, "step": 12, "acc": False, "score": 0.0},
    ]
    # Not escaped, as verl writes it.
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "12.jsonl").write_text(text, encoding="utf-8")
    with viewing(folder, cache=tmp_path / "cache") as (asked, viewer):
        run = only_run(viewer)
        assert run.source.kind == "verl"
        answer = asked.get(f"/api/runs/{run.id}/trajectories?sort=order").json()
        [right, wrong] = answer["rows"]
        assert (right["step"], right["right"], right["reward"], right["turns"], right["tools"]) == (
            12,
            True,
            1.0,
            2,
            ["zoom"],
        )
        assert (wrong["right"], wrong["sample"]) == (False, 1)
        # No part of verl's total, and yet what it was.
        assert answer["ranges"]["term.format_reward"]["max"] == 0.5
        assert right["question"] == "How many?"
        opened = run.open(right["id"])
        assert opened.attempt.trajectory.turns[0].thought == "closer"
        assert opened.attempt.trajectory.turns[0].observation.text == "zoomed"  # type: ignore[union-attr]
        assert "these files contain no pictures" in " ".join(opened.notes)
        # Two samples of one question are a group.
        assert len(asked.get(f"/api/runs/{run.id}/groups/{right['id']}").json()["rows"]) == 2


def test_results_of_verifiers_keep_their_examples_rewards_and_metrics(tmp_path: Path) -> None:
    entry = {
        "example_id": 3,
        "prompt": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Which?"},
                    {"type": "image_url", "image_url": {"url": picture((9, 9, 9))}},
                ],
            }
        ],
        "completion": [{"role": "assistant", "content": "B"}],
        "answer": "B",
        "task": "mmmu",
        "reward": 0.75,
        "metrics": {"correct": 1.0, "format": 0.5},
        "info": {},
    }
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "results.jsonl").write_text(
        json.dumps(entry) + "\n" + json.dumps({**entry, "error": "x"}) + "\n"
    )
    with viewing(tmp_path / "eval", cache=tmp_path / "cache") as (asked, viewer):
        run = only_run(viewer)
        [row, failed] = asked.get(f"/api/runs/{run.id}/trajectories?sort=order").json()["rows"]
        assert (row["task"], row["family"], row["reward"], row["right"]) == ("3", "mmmu", 0.75, None)
        assert failed["status"] == "failed"
        assert asked.get(f"/media/{run.id}/{row['image']}.png").status_code == 200
        scene = asked.get(f"/api/runs/{run.id}/trajectories/{row['id']}").json()
        assert scene["verdict"] == "unknown"
        # Weights are not written: the parts are shown, the total is what was recorded.
        assert scene["reward"]["total"] == 0.75


def test_messages_of_any_file_by_a_map_of_fields(tmp_path: Path) -> None:
    Image.new("RGB", (5, 5)).save(tmp_path / "a.png")
    secret = tmp_path.parent / "secret.png"
    Image.new("RGB", (7, 7)).save(secret)
    rows = [
        {
            "uid": "x",
            "talk": [{"from": "human", "value": "Hi?"}, {"from": "gpt", "value": "Ho"}],
            "mark": 1,
            "pics": ["a.png"],
        },
        {
            "uid": "y",
            "talk": [{"role": "user", "content": "?"}],
            "pics": [str(secret), "../secret.png", "http://x/y.png"],
        },
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "not json\n")
    fields = FieldMap.read({"messages": "talk", "id": "uid", "reward": "mark", "images": "pics"})
    collection = Collection(paths=(file,), cache=tmp_path / "cache", fields=fields)
    collection.load()
    [run] = collection.runs.values()
    view = run.table.view()
    assert (view.count, view.columns["reward"][0]) == (2, 1.0)
    assert "mine.jsonl:3" in run.notes["mine.jsonl"]
    first, second = (run.open(run.id_of(0, row)).attempt for row in range(2))
    assert (first.task.id, first.task.question, first.trajectory.answer) == ("x", "Hi?", "Ho")
    assert [(one.width, one.height) for one in first.task.images] == [(5, 5)]
    assert second.task.images == ()
    with pytest.raises(UserError, match="can be mapped"):
        FieldMap.read({"colour": "x"})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.eval", b"PK\x03\x04 broken"),
        ("a.eval", b""),
        ("completions_00001.parquet", b"PAR1 broken PAR1"),
    ],
)
def test_broken_foreign_files_are_notes(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "completions").mkdir()
    folder = tmp_path / "completions" if name.endswith(".parquet") else tmp_path
    (folder / name).write_bytes(content)
    with viewing(tmp_path, cache=tmp_path / "cache") as (asked, _):
        told = asked.get("/api/runs").json()
        assert told["runs"] == [] or told["runs"][0]["trajectories"] == 0


def test_a_zip_that_grows_without_end_is_cut_off(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.eval", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("samples/a.json", b'{"id": "' + b"0" * (140 << 20))
    with viewing(tmp_path, cache=tmp_path / "cache") as (_, viewer):
        run = only_run(viewer)
        assert run.table.view().count == 0
        assert "more than 128 MiB" in " ".join(run.notes.values())


EASYR1 = """[prompt] system
Help.
user
How many?
assistant

[output] <think>two

[score] of lines</think><answer>4</answer>
[ground_truth] 4
[score] 1.0

[prompt] user
Which?
assistant
[output] blue
[ground_truth] red
[score] 0.0

"""


@pytest.mark.parametrize(
    "text",
    [EASYR1, EASYR1.replace("[prompt]", "[val/generations]\n[step] 7\n[prompt]").replace("\n", "\r\n")],
    ids=["plain", "with steps"],
)
def test_a_log_of_easyr1_is_shown_with_its_scores(text: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "generations.log").write_text(text, encoding="utf-8", newline="")
    with viewing(tmp_path / "run", cache=tmp_path / "cache") as (asked, viewer):
        run = only_run(viewer)
        [right, wrong] = asked.get(f"/api/runs/{run.id}/trajectories?sort=order").json()["rows"]
        assert (right["reward"], right["question"], right["expected"]) == (1.0, "How many?", "4")
        assert (wrong["reward"], wrong["answer"], wrong["expected"], wrong["right"]) == (0.0, "blue", "red", None)
        assert right["step"] == (7 if "[step]" in text else 0)
        assert run.open(right["id"]).attempt.trajectory.turns[0].thought.startswith("two")


def test_predictions_of_llama_factory_are_shown_without_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "saves").mkdir()
    lines = [
        {"prompt": "user\nHow many?\nassistant\n", "predict": "4", "label": "5"},
        {"label": "red", "predict": "<think>it is</think>red"},
    ]
    (tmp_path / "saves" / "generated_predictions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with viewing(tmp_path / "saves", cache=tmp_path / "cache") as (asked, viewer):
        run = only_run(viewer)
        [first, second] = asked.get(f"/api/runs/{run.id}/trajectories?sort=order").json()["rows"]
        assert (first["question"], first["answer"], first["expected"], first["right"]) == ("How many?", "4", "5", None)
        assert (second["answer"], second["reward"]) == ("red", None)


def test_files_that_are_of_no_known_kind_are_named_with_what_is_read(tmp_path: Path) -> None:
    for name in ("notes.log", "a\x1bb.csv", "log.jsonl"):
        (tmp_path / name).write_text("[prompt]\n", encoding="utf-8")
    [note] = find_sources((tmp_path,))[1]
    assert "\x1b" not in note
    assert ".csv, log.jsonl, notes.log: looked for" in note
    assert "EasyR1 (generations.log)" in note
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "generations.log").write_text(EASYR1, encoding="utf-8")
    (tmp_path / "merged").mkdir()
    # A checkpoint that was merged or fetched is no run, and nobody misses it in the list.
    (tmp_path / "merged" / "saccade_checksums.jsonl").write_text("{}\n", encoding="utf-8")
    sources, notes = find_sources((tmp_path,))
    assert [source.kind for source in sources] == ["easyr1"]
    assert notes == [f"not shown of {tmp_path}, as of no kind that is known: log.jsonl"]
