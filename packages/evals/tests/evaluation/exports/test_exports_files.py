"""Files of VLMEvalKit and lmms-eval: written as they read them, read as they write them, wrong ones told apart."""

import base64
import csv
import io
import json
import sys

import openpyxl
import pyarrow.parquet as pq
import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.evaluation.benchmarks import benchmark_named
from saccade.evaluation.exports import lmms_eval, tables, vlmevalkit
from saccade.evaluation.exports.harness_tasks import write_lmms_eval_task, write_vlmevalkit_tsv
from saccade.evaluation.exports.imported import imported_samples, write_imported
from saccade.evaluation.exports.predictions import Prediction, evaluation_records, predictions_of
from saccade.evaluation.sample_files import read_samples
from saccade.media.store import MediaStore
from saccade.types import Answer, Attempt, Task, Trajectory, Turn

HOSTILE = '=HYPERLINK("http://evil")\x07\ttab\n"quotes" \ud800 中'


def prediction(index, reply, *, gold="B", options=("cat", "dog"), category="animals"):
    return Prediction(
        index=index, id=f"set/{index}", question=f"Which {index}?", gold=gold, reply=reply, options=options,
        category=category,
    )  # fmt: skip


PREDICTIONS = [
    prediction("0", "B"),
    prediction("1", "it is a cat", gold="A"),
    prediction("2", ""),
    prediction("3", None),
    prediction("4", "dog"),
]


@pytest.mark.parametrize("ending", ["xlsx", "tsv"])
def test_predictions_come_back_from_vlmevalkits_files(tmp_path, ending):
    path = tmp_path / "model" / f"model_Set.{ending}"
    assert vlmevalkit.write_predictions(PREDICTIONS, path) == 0
    assert vlmevalkit.read_predictions(path) == PREDICTIONS


def test_hostile_text_is_text_in_a_cell(tmp_path):
    path = tmp_path / "a.xlsx"
    assert vlmevalkit.write_predictions([prediction("0", HOSTILE), prediction("1", "x" * 40_000)], path) == 2
    sheet = openpyxl.load_workbook(path).active
    cell = sheet.cell(2, 8)
    assert cell.data_type == "s"
    assert cell.value == HOSTILE.replace("\x07", "�").replace("\ud800", "�")
    assert len(sheet.cell(3, 8).value) == 32_767


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.xlsx", b"no zip", "cannot be read as an xlsx file"),
        ("a.csv", b"index\n1\n", "must end in .xlsx or .tsv"),
        ("a.tsv", b"index\tquestion\n1\tx\n", "has no column 'answer'"),
        ("a.tsv", b"index\tquestion\tanswer\tprediction\n\tx\ty\tz\n", "a.tsv:2 has no index"),
        ("a.tsv", b"\xff\xfe\x00", "no table"),
    ],
)
def test_files_that_are_no_predictions_are_told_apart(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=said):
        vlmevalkit.read_predictions(path)


def test_a_sample_log_comes_back_without_what_failed(tmp_path):
    predictions = [prediction(str(place), one.reply, options=(), category="") for place, one in enumerate(PREDICTIONS)]
    assert lmms_eval.write_sample_log(predictions, tmp_path, "drawn", "model") == 1
    read = lmms_eval.read_sample_log(tmp_path / "samples_drawn.jsonl")
    assert read == [one for one in predictions if one.reply is not None]
    log = json.loads((tmp_path / "drawn.json").read_text())
    assert [entry["resps"] for entry in log["logs"]] == [[["B"]], [["it is a cat"]], [[""]], [[""]], [["dog"]]]


def test_a_log_as_lmms_eval_writes_it_is_read_and_its_failed_requests_are_no_answers(tmp_path):
    path = tmp_path / "20261124_120000_samples_vstar_bench.jsonl"
    lines = [
        {"doc_id": 10, "target": "A", "filtered_resps": "[LMMS_EVAL_REQUEST_FAILED after 5 retries] 500", "input": "q"},
        {"doc_id": 2, "target": "B", "filtered_resps": [["(B)"]], "input": "q2", "vstar_overall_acc": {"x": 1}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, second = lmms_eval.read_sample_log(path)
    assert (first.index, first.reply, first.gold) == ("2", "(B)", "B")
    assert (second.index, second.reply) == ("10", None)
    assert lmms_eval.task_name(path) == "vstar_bench"


@pytest.mark.parametrize(
    ("content", "said"), [("[1]\n", ":1 is no sample"), ("{}\n", ":1 is no sample"), ("{", ":1 is not JSON")]
)
def test_lines_that_are_no_samples_are_named(tmp_path, content, said):
    path = tmp_path / "samples_x.jsonl"
    path.write_text(content)
    with pytest.raises(UserError, match=said):
        lmms_eval.read_sample_log(path)


@pytest.mark.parametrize(
    ("reading", "right"),
    [(name, [True, True, False, None, True]) for name in ("vlmevalkit", "vlmevalkit-2026-08", "strict")],
)
def test_an_imported_run_is_scored_by_the_chosen_rule_and_failures_are_in_no_figure(tmp_path, reading, right):
    found = imported_samples(
        PREDICTIONS, name="theirs", source=tmp_path / "m_Set.xlsx", model="m", reading=reading, benchmark=None
    )
    assert [sample.right for sample in found.samples] == right
    path = write_imported(found, tmp_path)
    assert read_samples(path) == found
    with pytest.raises(UserError, match="is there already"):
        write_imported(found, tmp_path)


def test_a_benchmarks_own_rules_read_its_imported_run(tmp_path):
    found = imported_samples(
        [PREDICTIONS[0], prediction("1", "A")],
        name="theirs",
        source=tmp_path / "m_V.xlsx",
        model="m",
        reading="lmms-eval",
        benchmark=benchmark_named("vstar"),
    )
    assert [(sample.id, sample.right) for sample in found.samples] == [("vstar/0", True), ("vstar/1", False)]
    with pytest.raises(UserError, match="name the benchmark"):
        imported_samples(PREDICTIONS, name="x", source=tmp_path, model="m", reading="lmms-eval")


def test_tables_hold_every_sample_and_figures_with_intervals(tmp_path):
    found = imported_samples(PREDICTIONS, name="a_b", source=tmp_path / "x.tsv", model="m", reading="vlmevalkit")
    tables.write_csv([found], tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["right"] for row in rows] == ["True", "True", "False", "", "True"]
    tables.write_parquet([found], tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").column("right").to_pylist() == [True, True, False, None, True]
    tables.write_markdown([found], tmp_path / "a.md")
    assert "| a_b | 75.0 | 30.1 to 95.4 | 4 | 1 |" in (tmp_path / "a.md").read_text()
    tables.write_latex([found], tmp_path / "a.tex")
    assert r"a\_b & 75.0 & 30.1 to 95.4 & 4 & 1 \\" in (tmp_path / "a.tex").read_text()


def a_task(media, number, **fields):
    picture = media.add(Image.new("RGB", (20, 10), (number, 0, 0)))
    settings = {
        "question": "Cat or dog?",
        "answer": "dog",
        "answer_kind": "choice",
        "choices": ("cat", "dog"),
        **fields,
    }
    return Task(id=f"pets/{number}", family="pets", images=(picture,), **settings)


def test_questions_are_a_data_set_of_vlmevalkit(tmp_path):
    media = MediaStore()
    tasks = [a_task(media, number) for number in range(2)]
    path = write_vlmevalkit_tsv(tasks, tmp_path / "Pets.tsv", media)
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file, delimiter="\t")
    assert (first["index"], first["A"], first["B"], first["answer"], second["id"]) == ("0", "cat", "dog", "B", "pets/1")
    assert Image.open(io.BytesIO(base64.b64decode(first["image"]))).size == (20, 10)
    with pytest.raises(UserError, match="has no options"):
        write_vlmevalkit_tsv([*tasks, a_task(media, 3, choices=(), answer_kind="exact")], path, media)


def test_questions_are_a_task_of_lmms_eval_whose_rule_is_its_own_file(tmp_path):
    media = MediaStore()
    tasks = [a_task(media, 0), a_task(media, 1, question="Which?", choices=("cat", "dog"))]
    assert write_lmms_eval_task(tasks, tmp_path, "pets", media).name == "pets.yaml"
    namespace = {"__file__": str(tmp_path / "pets_functions.py")}
    exec((tmp_path / "pets_functions.py").read_text(), namespace)
    sys.path.remove(str(tmp_path))
    first, second = pq.read_table(tmp_path / "pets.parquet").to_pylist()
    assert namespace["pictures"](first)[0].size == (20, 10)
    assert namespace["question"](first) == "Cat or dog?\nA. cat\nB. dog"
    assert namespace["score"](second, [" b. "]) == {"accuracy": 1.0}
    assert namespace["score"](second, ["Dog"]) == {"accuracy": 1.0}
    assert namespace["score"](second, ["dogs"]) == {"accuracy": 0.0}
    with pytest.raises(UserError, match="must be a word"):
        write_lmms_eval_task(tasks, tmp_path, "my pets", media)


def test_predictions_are_first_samples_by_the_indices_of_their_set():
    media = MediaStore()
    task = a_task(media, 7)

    def attempt(sample, status="answered"):
        turn = Turn(index=0, text="", thought="", action=Answer(text="dog"), is_well_formed=True)
        trajectory = Trajectory(
            task_id=task.id,
            family="pets",
            stream="evaluation",
            sample=sample,
            seed=0,
            policy_version=0,
            segments=(),
            turns=(turn,),
            status=status,
        )
        return Attempt(task=task, trajectory=trajectory)

    [one] = predictions_of([attempt(0), attempt(1)])
    assert (one.index, one.gold, one.reply, one.options) == ("7", "B", "dog", ("cat", "dog"))
    assert predictions_of([attempt(0, "failed")])[0].reply is None


def test_a_folder_without_evaluations_is_told(tmp_path):
    with pytest.raises(UserError, match="holds no evaluation"):
        evaluation_records(tmp_path)
