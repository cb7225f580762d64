import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image
from viewer_fake_run import SETTINGS, STAGES, evaluate, hostile_attempt, make_run, search_task

from saccade.errors import UserError
from saccade.evaluation.statistics import wilson_interval
from saccade.media.store import MediaStore
from saccade.runs.directory import RunDirectory
from saccade.runs.metrics import MetricsWriter
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.viewer.report import write_report


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails on tags that do not nest."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input", "line", "rect", "circle", "path", "use", "image"})

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["script"]:
            self.scripts.append(data)
        elif self._open[-1:] != ["style"]:
            self.text += data

    @property
    def foreign_scripts(self) -> int:
        """Scripts that the page's policy does not name by their hash; its block of JSON never runs."""
        policy = next(found["content"] for tag, found in self.tags if tag == "meta" and "http-equiv" in found)
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in self.scripts]
        assert "unsafe" not in policy
        named = sum(f"'sha256-{one}'" in policy for one in hashes)
        return self.count("script") - named - self.count("script", type="application/json", id="export")

    def count(self, tag: str, **attributes: str) -> int:
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return sum(1 for name, found in self.tags if name == tag and wanted.items() <= found.items())


def page_of(root: Path) -> Page:
    write_report(RunPaths(root=root))
    return Page(root / "report.html")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_run(tmp_path_factory.mktemp("viewer") / "run")
    write_report(RunPaths(root=root))
    return root


def test_report_json_has_the_stages_in_order_with_their_intervals(run: Path) -> None:
    report = json.loads((run / "report.json").read_text())
    assert [stage["name"] for stage in report["stages"]] == ["after_sft", "after_rl", "after_rl_without_tool"]
    after_rl = report["stages"][1]
    assert set(after_rl) >= {"name", "accuracy", "ci95", "n", "families", "tool_rate", "turns_mean", "format_rate"}
    right = round(after_rl["accuracy"] * 48)
    assert after_rl["ci95"] == list(wilson_interval(right, 48))
    assert (after_rl["n"], after_rl["tool_rate"], after_rl["turns_mean"], after_rl["failed"]) == (48, 1.0, 2.0, 0)
    assert set(after_rl["families"]) == {"visual_search", "counting", "chart_bars"}
    assert report["settings"] == SETTINGS
    assert report["versions"]["torch"]
    assert report["wall_s"] >= 0
    assert report["status"] == "finished"


def test_report_json_compares_later_evaluations_with_the_first(run: Path) -> None:
    gain, none = json.loads((run / "report.json").read_text())["comparisons"]
    assert (gain["before"], gain["after"], gain["n"]) == ("after_sft", "after_rl", 48)
    assert gain["ci95"][0] > 0.3
    assert none == {
        "what": "unknown",
        "before": "after_sft",
        "after": "after_rl_without_tool",
        "difference": 0.0,
        "ci95": [0.0, 0.0],
        "n": 48,
    }


def test_an_evaluation_is_compared_with_the_first_that_asked_the_same_questions(tmp_path: Path) -> None:
    media = MediaStore()
    easy = [search_task(media, index) for index in range(4)]
    hard = [search_task(media, index, "counting") for index in range(4)]
    names = ("before_easy", "before_hard", "after_easy", "after_hard")
    root = tmp_path / "run"
    with RunDirectory.create(root, resume=False, settings=SETTINGS, command=("saccade",), title="two kinds") as run:
        with MetricsWriter.open(run.paths.metrics, stages=names) as metrics:
            for name, tasks in zip(names, (easy, hard, easy, hard)):
                evaluate(run, media, metrics, name, tasks, right_of_ten=10 if name == "after_hard" else 0, looks=False)
        run.finish("finished")
    write_report(RunPaths(root=root))
    compared = json.loads((root / "report.json").read_text())["comparisons"]
    found = [(one["before"], one["after"], one["difference"]) for one in compared]
    assert found == [("before_easy", "after_easy", 0.0), ("before_hard", "after_hard", 1.0)]


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (("before_other", "after_other"), "2 other evaluations of this run are below."),
        (("after_other",), "1 other evaluation of this run is below."),
    ],
)
def test_the_summary_names_the_main_measurements_and_counts_those_on_other_questions(
    tmp_path: Path, others: tuple[str, ...], said: str
) -> None:
    media = MediaStore()
    tasks = [search_task(media, 0)]
    names = ("before", "after", *others)
    root = tmp_path / "run"
    with RunDirectory.create(root, resume=False, settings=SETTINGS, command=("saccade",), title="two kinds") as run:
        with MetricsWriter.open(run.paths.metrics, stages=names) as metrics:
            for name in names:
                evaluate(run, media, metrics, name, tasks, right_of_ten=10 if name == "after" else 0, looks=False)
        run.finish("finished")
    write_report(RunPaths(root=root))
    text = Page(root / "report.html").text.replace("\N{NO-BREAK SPACE}", " ")
    assert f"On 1 question the model was right in 0 % before and in 100 % after. {said}" in text


def test_the_page_asks_for_nothing_from_outside(run: Path) -> None:
    page = Page(run / "report.html")
    assert page.foreign_scripts == page.count("link") == page.count("iframe") == 0
    for tag, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "action"):
            if name in attributes:
                assert attributes[name].startswith(("data:image/png;base64,", "#")), (tag, attributes[name][:80])
    html = (run / "report.html").read_text()
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src 'none'" in html


def test_the_page_says_what_happened_with_the_numbers(run: Path) -> None:
    text = Page(run / "report.html").text.replace("\N{NO-BREAK SPACE}", " ")
    assert "A tiny model learns to look closer" in text
    assert "On 48 questions the model was right in 20.8 % after sft (tool used in 0 %)" in text
    assert "it trained in sft (200 steps) and rl (30 steps)." in text
    assert "saccade demo --seed 0 --out runs/demo" in text
    assert "calls per question: 1.00 where fewer than 25 % of its answers are right, 1.00 from 75 %" in text
    assert "recipe.sft.optimizer.learning_rate" in text


def test_each_image_is_embedded_once_and_every_reference_is_defined(run: Path) -> None:
    page = Page(run / "report.html")
    defined = [attributes["id"] for tag, attributes in page.tags if tag == "image"]
    used = {attributes["href"].removeprefix("#") for tag, attributes in page.tags if tag == "use"}
    assert len(defined) == len(set(defined))
    assert set(defined) == used
    assert page.count("rect", class_="asked") >= 6
    assert page.count("rect", class_="target") >= 12


def test_curves_have_hover_titles_and_a_place_for_values_that_are_not_finite(run: Path) -> None:
    html = (run / "report.html").read_text()
    assert "<title>training, sampled, step 30: " in html
    assert "<title>evaluated, step 5: " in html
    policy_loss = html[html.index('aria-label="policy loss"') :]
    path = re.search(r'class="curve series-0" d="([^"]*)"', policy_loss)
    assert path is not None
    assert path.group(1).count("M") == 2


def test_the_same_run_gives_the_same_page(run: Path) -> None:
    before = (run / "report.html").read_bytes()
    write_report(RunPaths(root=run))
    assert (run / "report.html").read_bytes() == before


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    media = MediaStore()
    attempt = hostile_attempt(media.add(Image.new("RGB", (20, 10))))
    with RunDirectory.create(tmp_path / "a", resume=False, settings={"<b>": "<script>"}, title="<script>t") as run:
        position = Position(stage="<i>stage", step=1)
        with MetricsWriter.open(run.paths.metrics, stages=("<i>stage",)) as metrics:
            metrics.write(position, {"<script>metric": 1.0, "nll": 2.0})
        path = run.paths.evaluation("<u>name")
        write_records(path, position, [attempt], media=media, media_directory=run.paths.media)
    page = page_of(tmp_path / "a")
    for tag in ("script", "b", "i", "u", "img"):
        assert not any(name == tag and "onerror" in found for name, found in page.tags)
    assert page.foreign_scripts == 0
    assert page.count("u") == 0
    assert "<script>alert('text')</script>" in page.text
    assert "<script>alert('gold')</script>" in page.text
    assert "⟨U+202E⟩right to left⟨U+0000⟩⟨U+001B⟩[31m" in page.text
    assert "more characters are in the trajectory file]" in page.text
    assert page.text.count("\u0301") == 3
    assert (tmp_path / "a" / "report.html").stat().st_size < 100_000 + 220_000  # the pages themselves
    assert json.loads((tmp_path / "a" / "report.json").read_text())["title"] == "<script>t"


def test_a_run_that_has_just_begun_has_a_page(tmp_path: Path) -> None:
    RunDirectory.create(tmp_path / "fresh", resume=False, settings={}).close()
    page = page_of(tmp_path / "fresh")
    assert "Nothing has been measured yet. The run was still going, or was killed" in page.text
    assert "fresh" in page.text
    assert page.count("table") == page.count("figure") == page.count("article") == 0


def test_a_run_without_evaluation_tells_of_its_loss(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path / "a", resume=False, settings={}) as run:
        with MetricsWriter.open(run.paths.metrics, stages=STAGES) as metrics:
            metrics.write(Position(stage="sft", step=1), {"nll": 2.0})
            metrics.write(Position(stage="sft", step=2), {"nll": 1.5})
        run.finish("failed", "MachineError: the disk is full")
    text = page_of(tmp_path / "a").text
    assert "in stage sft the loss went from 2 at step 1 to 1.5 at step 2." in text
    assert "The run stopped early (MachineError: the disk is full); it trained in sft (2 steps)." in text


def test_damaged_files_become_notes(tmp_path: Path) -> None:
    root = make_run(tmp_path / "run", n=8)
    (root / "settings.json").write_text("{")
    torn = root / "evaluations" / "after_rl.jsonl"
    torn.write_bytes(torn.read_bytes()[:-100])
    for image in (root / "media").iterdir():
        image.unlink()
    page = page_of(root)
    assert "settings.json cannot be read" in page.text
    assert "after_rl.jsonl:17: not JSON" in page.text
    assert "image not on disk" in page.text
    notes = json.loads((root / "report.json").read_text())["notes"]
    assert len(notes) == 2


def test_the_machines_failures_are_counted_and_shown_apart(tmp_path: Path) -> None:
    media = MediaStore()
    attempt = hostile_attempt(media.add(Image.new("RGB", (20, 10))))
    failed = replace(
        attempt, trajectory=replace(attempt.trajectory, status="failed", failure="tool server gone", score=None)
    )
    with RunDirectory.create(tmp_path / "a", resume=False, settings={}) as run:
        position = Position(stage="check", step=1)
        write_records(run.paths.evaluation("check"), position, [failed], media=media, media_directory=run.paths.media)
    page = page_of(tmp_path / "a")
    stage = json.loads((tmp_path / "a" / "report.json").read_text())["stages"][0]
    assert (stage["accuracy"], stage["n"], stage["failed"], stage["ci95"]) == (None, 0, 1, [0.0, 1.0])
    assert "! failed" in page.text
    assert "Nothing has been measured yet." in page.text


def test_what_failed_or_was_cut_off_stands_beside_every_figure(tmp_path: Path) -> None:
    media = MediaStore()
    fine = hostile_attempt(media.add(Image.new("RGB", (20, 10))))
    failed = replace(fine.trajectory, task_id="other/0", family="other", status="failed", failure="gone", score=None)
    cut_off = replace(fine, trajectory=replace(fine.trajectory, status="token_limit"))
    elsewhere = replace(fine, task=replace(fine.task, id="other/0", family="other"), trajectory=failed)
    with RunDirectory.create(tmp_path / "a", resume=False, settings={}) as run:
        position, attempts = Position(stage="check", step=1), [fine, cut_off, elsewhere]
        write_records(run.paths.evaluation("check"), position, attempts, media=media, media_directory=run.paths.media)
    page = page_of(tmp_path / "a")
    stage = json.loads((tmp_path / "a" / "report.json").read_text())["stages"][0]
    counts = {name: (one["n"], one["failed"], one["cut_off"]) for name, one in stage["families"].items()}
    assert (stage["n"], stage["failed"], stage["cut_off"]) == (2, 1, 1)
    assert counts == {fine.task.family: (2, 0, 1), "other": (0, 1, 0)}
    # In the sentence at the top and on the card.
    assert page.text.count("1 of 3 failed and is left out, 1 of 3 cut off by a token limit") == 2


def test_a_directory_without_a_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no run: there is no run.json"):
        write_report(RunPaths(root=tmp_path))
    with pytest.raises(UserError, match=r"holds no run"):
        write_report(RunPaths(root=tmp_path / "absent"))
