"""The viewer's pages in a browser: each view opened, by pointer, touch and keys, from the server and from one file."""

import io
import json
import math
import shutil
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Locator, sync_playwright
from viewer_browser import Watched, launched, served
from viewer_fake_run import guessing_attempt, hostile_attempt, looking_attempt, make_run, search_task

from saccade.media.store import MediaStore
from saccade.rewards.reward import counts_as_right
from saccade.runs import clocks, signals
from saccade.runs.clocks import write_clocks
from saccade.runs.position import Position
from saccade.runs.records import read_records, write_records
from saccade.runs.runinfo import RunPaths
from saccade.runs.signals import write_signals
from saccade.types import Attempt, Clock, Segment, Signals, Term, Trajectory, TurnClock
from saccade.viewer.app.exporting import write_export
from saccade.viewer.report import write_report

STEP = Position(stage="rl", step=29)
LOGPROBS = (-0.01, -0.5, -1.5, -4.0)
ENTROPY = (0.05, 0.5, 1.25, 2.5)
REFERENCE = (-0.01, -0.25, -2.0, -3.0)
TEACHER = (-0.3, -0.7, -1.0, -2.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    address: str
    root: Path
    run: str
    looked: str
    """A trajectory that cropped, in a group of four with tokens."""
    hostile: str

    def at(self, route: str) -> str:
        return f"{self.address}/#/run/{self.run}{route}"


def with_tokens(attempt: Attempt, *, sample: int) -> Attempt:
    """Four tokens a turn, each less sure than the one before."""
    turns = attempt.trajectory.turns
    segments = tuple(Segment(role="action", turn=turn.index, ids=(5, 6, 7, 8), logprobs=LOGPROBS) for turn in turns)
    clock = Clock(turns=tuple(TurnClock(start_s=2.0 * one.index, decode_s=1.25, tool_s=0.25) for one in turns))
    trajectory: Trajectory = replace(attempt.trajectory, segments=segments, sample=sample, clock=clock)
    numbers = Signals(
        entropy=ENTROPY * len(turns), reference_logprobs=REFERENCE * len(turns), teacher_logprobs=TEACHER * len(turns)
    )
    return replace(attempt, trajectory=trajectory, advantages=tuple(0.5 - sample for _ in turns), signals=numbers)


def add_group(root: Path, position: Position) -> None:
    media = MediaStore()
    task = search_task(media, 1)
    others = [task.answer, "plain", "rows"]
    group = [looking_attempt(media, task, answer, sample=index) for index, answer in enumerate(others)]
    group.append(guessing_attempt(task, "checks", sample=3))
    kept = [with_tokens(attempt, sample=index) for index, attempt in enumerate(group)]
    image = media.add(Image.new("RGB", (20, 10)))
    paths = RunPaths(root=root)
    records = [*kept, hostile_attempt(image)]
    path = paths.trajectories(position)
    write_records(path, position, records, media=media, media_directory=paths.media)
    write_signals(paths.beside(path, signals.DIRECTORY), [one.signals for one in records])
    write_clocks(paths.beside(path, clocks.DIRECTORY), [one.trajectory.clock for one in records])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = launched(playwright)
        yield found
        found.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("pages")
    root = make_run(folder / "runs" / "one", n=24)
    shutil.copytree(root, folder / "runs" / "two")
    settings = folder / "runs" / "two" / "settings.json"
    settings.write_text(settings.read_text().replace('"seed": 0', '"seed": 1'))
    add_group(root, STEP)
    with served(folder / "runs", folder / "cache") as address:
        runs = asked(f"{address}/api/runs")["runs"]
        run = next(one["id"] for one in runs if one["name"] == "one")
        rows = until_indexed(address, run)
        of_step = [row["id"] for row in rows if row["step"] == STEP.step and row["stage"] == "rl"]
        assert len(of_step) == 5
        by_family = {row["id"]: row["family"] for row in rows}
        hostile = next(one for one in of_step if by_family[one].startswith("<"))
        looked = next(row["id"] for row in rows if row["id"] in of_step and row["tools"] == ["crop"])
        yield Site(address=address, root=root, run=run, looked=looked, hostile=hostile)


def asked(address: str) -> dict[str, list[dict[str, str]]]:
    with urllib.request.urlopen(address) as answer:
        found: dict[str, list[dict[str, str]]] = json.load(answer)
        return found


def until_indexed(address: str, run: str) -> list[dict[str, str]]:
    while True:
        time.sleep(0.2)
        answer = asked(f"{address}/api/runs/{run}/trajectories?limit=500")
        if not answer["indexing"]:
            return answer["rows"]


def centre(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def beside(site: Site) -> str:
    runs = [one["id"] for one in asked(f"{site.address}/api/runs")["runs"]]
    return f"{site.address}/#/beside?{'&'.join(f'run={one}' for one in runs)}"


def views(site: Site) -> list[str]:
    evaluations = f"{site.address}/#/evaluations?a={site.run}/after_sft&b={site.run}/after_rl"
    routes = ["", "/list", f"/t/{site.looked}", f"/t/{site.hostile}", f"/group/{site.looked}", "/marks"]
    return [f"{site.address}/#/", evaluations, beside(site), *(site.at(route) for route in routes)]


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_every_view_opens_without_a_message_fits_its_window_and_axe_finds_nothing(
    browser: Browser, site: Site, width: int, scheme: str
) -> None:
    watched = Watched.of(browser, width=width, scheme=scheme)
    for address in views(site):
        watched.open(address)
        assert watched.messages == [], address
        assert not watched.is_wider_than_the_window, address
        assert watched.page.locator("#view h1").count() >= 1, address
        found = Axe().run(watched.page)
        assert found.violations_count == 0, f"{address}\n{found.generate_report()}"
    watched.page.close()


def test_pointing_at_words_lights_their_place_and_pointing_at_the_place_lights_the_words(
    browser: Browser, site: Site
) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at(f"/t/{site.looked}"))
    mention = page.locator(".mention").first
    region = page.locator(f".drawing [data-region='{mention.get_attribute('data-region')}']")
    page.mouse.move(*centre(mention))
    assert "lit" in (region.get_attribute("class") or "")
    page.mouse.move(2, 2)
    assert "lit" not in (region.get_attribute("class") or "")

    # The place on the screen follows from the pixels: 256 of them over the width of the drawn picture.
    picture = page.locator(".drawing image").bounding_box()
    target = asked(f"{site.address}/api/runs/{site.run}/trajectories/{site.looked}")["regions"]
    box = next(one["box"] for one in target if one["kind"] == "asked")
    assert picture is not None
    scale = picture["width"] / 256
    left, top, right, _ = (float(side) for side in box)
    page.mouse.move(picture["x"] + (left + right) / 2 * scale, picture["y"] + (top + 2) * scale)
    assert "lit" in (mention.get_attribute("class") or "")
    thumb = page.locator(".look .thumb[data-region]").first
    assert "lit" in (thumb.get_attribute("class") or "")
    drawn = region.locator(".stroke").bounding_box()
    assert drawn is not None
    assert abs(drawn["x"] - (picture["x"] + left * scale)) < 4
    assert watched.messages == []
    page.close()


def test_lines_lead_from_a_crop_s_place_to_the_crop(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at(f"/t/{site.looked}"))
    thumb = page.locator(".look .thumb[data-region] img").bounding_box()
    line = page.locator(".to-crop .stroke").bounding_box()
    region = page.locator(".drawing .region.asked .stroke").bounding_box()
    assert thumb
    assert line
    assert region
    assert abs(line["y"] - (region["y"] + region["height"])) < 8
    assert abs(line["y"] + line["height"] - thumb["y"]) < 5
    page.close()


def test_a_veil_darkens_what_no_call_returned_and_nothing_else(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at(f"/t/{site.looked}"))
    veil, region = page.locator(".drawing .veiled"), page.locator(".drawing .region.asked .stroke")
    assert not veil.is_visible()
    page.get_by_label("darken what no call returned").check()
    assert veil.is_visible()
    box = region.bounding_box()
    assert box is not None
    shown = Image.open(io.BytesIO(page.screenshot())).convert("L")
    inside = shown.getpixel((int(box["x"] + 12), int(box["y"] + box["height"] - 12)))
    outside = shown.getpixel((int(box["x"] + 12), int(box["y"] + box["height"] + 12)))
    assert (inside, outside) == (128, 32)
    assert watched.messages == []
    page.locator(".look .thumb").nth(1).click()
    assert not page.get_by_label("darken what no call returned").is_visible()
    page.close()


def test_touch_keeps_a_place_lit_and_a_second_touch_lets_it_go(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser, width=390, has_touch=True)
    page = watched.open(site.at(f"/t/{site.looked}"))
    mention = page.locator(".mention").first
    region = page.locator(f".drawing [data-region='{mention.get_attribute('data-region')}']")
    mention.tap()
    assert "lit" in (region.get_attribute("class") or "")
    page.close()


def test_keys_alone_go_from_the_runs_to_a_wrong_answer_and_into_its_picture(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(f"{site.address}/#/")
    focus_on(watched, "one")
    page.keyboard.press("Enter")
    page.wait_for_url("**/#/run/*")
    watched.settled()
    focus_on(watched, "All trajectories")
    page.keyboard.press("Enter")
    page.wait_for_selector(".row-item a")
    page.locator(".row-item a").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('[data-place]').dataset.place") == "1"
    page.keyboard.press("End")
    last = page.evaluate("document.activeElement.closest('[data-place]').getAttribute('aria-posinset')")
    assert last == page.evaluate("document.activeElement.closest('[data-place]').getAttribute('aria-setsize')")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_selector(".scene-head")
    page.keyboard.press("w")
    page.wait_for_selector(".scene-head.wrong")
    watched.open(site.at(f"/t/{site.looked}"))
    page.locator(".stage").focus()
    before = page.locator(".drawing").get_attribute("viewBox")
    page.keyboard.press("+")
    assert page.locator(".drawing").get_attribute("viewBox") != before
    page.keyboard.press("0")
    assert page.locator(".drawing").get_attribute("viewBox") == before
    page.locator(".drawing .region.asked").focus()
    assert page.locator(".mention.lit").count() == 1
    page.keyboard.press("g")
    watched.until(lambda: site.looked not in page.url)
    assert watched.messages == []
    page.close()


def focus_on(watched: Watched, words: str) -> None:
    """Tab until a link of these words has the focus."""
    for _ in range(40):
        watched.page.keyboard.press("Tab")
        if watched.page.evaluate("document.activeElement.textContent") == words:
            return
    raise AssertionError(f"{words} cannot be reached by Tab")


def test_tokens_tell_their_numbers_to_keys(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at(f"/t/{site.looked}"))
    page.get_by_label("Heat on tokens").select_option("probability")
    tokens = page.locator(".block-token")
    assert tokens.count() == 8
    strengths = [float(tokens.nth(at).evaluate("one => one.style.getPropertyValue('--heat')")) for at in range(4)]
    assert strengths == sorted(strengths)
    page.close()


def test_heat_shows_entropy_and_the_ratios_to_reference_and_teacher(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at(f"/t/{site.looked}"))
    chooser = page.get_by_label("Heat on tokens")
    ratios = [math.exp(own - other) for own, other in zip(LOGPROBS, REFERENCE, strict=True)]
    taught = [math.exp(other - own) for own, other in zip(LOGPROBS, TEACHER, strict=True)]
    wanted = {
        "entropy": (ENTROPY, [value / 2.5 for value in ENTROPY]),
        "ratio": (ratios, [abs(math.log(value)) / 2 for value in ratios]),
        "teacher": (taught, [abs(math.log(value)) / 2 for value in taught]),
    }
    for heat, (values, strengths) in wanted.items():
        chooser.select_option(heat)
        for at, (value, strength) in enumerate(zip(values, strengths, strict=True)):
            token = page.locator(".block-token").nth(at)
            assert float(token.get_attribute("title") or "nan") == pytest.approx(value, rel=1e-3)
            assert float(token.evaluate("one => one.style.getPropertyValue('--heat')")) == pytest.approx(
                strength, abs=0.01
            )
    assert "the teacher finds it more likely than the policy where blue" in page.locator("label.heat").inner_text()
    sides = [(page.locator(".block-token").nth(at).get_attribute("class") or "").split()[-1] for at in range(4)]
    assert sides == ["low", "low", "high", "high"]
    page.close()


def test_the_waterfall_shows_each_turn_where_its_clock_has_it(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at(f"/t/{site.looked}"))
    # Two turns: the second begins after 2 s, decodes for 1.25 s and its tool takes 0.25 s.
    assert page.locator(".waterfall h2").inner_text() == "Time 3.5 s"
    bar = page.locator(".waterfall tbody tr").nth(1).locator("rect.decode")
    assert float(bar.get_attribute("x") or "nan") == pytest.approx(100 * 2 / 3.5)
    assert float(bar.get_attribute("width") or "nan") == pytest.approx(100 * 1.25 / 3.5)
    assert page.locator(".waterfall tbody tr").nth(1).locator("td.numbers").all_inner_texts() == [
        "0 s",
        "1.25 s",
        "0.25 s",
    ]
    page.close()


def test_filters_in_the_address_leave_the_same_rows_as_a_plain_scan_of_the_records(
    browser: Browser, site: Site
) -> None:
    attempts = [(stage, one) for stage, path in record_files(site.root) for one in read_records(path)]
    is_wrong = [one for stage, one in attempts if stage == "after_rl" and not counts_as_right(one.task, one.trajectory)]
    called = [one for _, one in attempts if len(one.trajectory.turns) >= 2]
    watched = Watched.of(browser)
    page = watched.open(site.at("/list?stage=after_rl&right=0"))
    assert counted(page.locator(".matched").inner_text()) == len(is_wrong)
    watched.open(f"{site.at('/list')}?turns_min=2")
    watched.until(lambda: " of " in page.locator(".matched").inner_text())
    assert counted(page.locator(".matched").inner_text()) == len(called)
    page.reload()
    watched.settled()
    page.get_by_label("✗ wrong").check()
    watched.until(lambda: "right=0" in page.url)
    wrong_calls = [one for one in called if not counts_as_right(one.task, one.trajectory)]
    watched.until(lambda: counted(page.locator(".matched").inner_text()) == len(wrong_calls))
    assert watched.messages == []
    page.close()


def record_files(root: Path) -> list[tuple[str, Path]]:
    evaluations = [(path.stem, path) for path in sorted((root / "evaluations").glob("*.jsonl"))]
    return [*evaluations, *(("rl", path) for path in sorted((root / "trajectories").glob("*/*.jsonl")))]


def counted(words: str) -> int:
    return int(words.split()[0].replace(",", ""))


def test_an_export_works_from_the_disk_without_a_network(browser: Browser, site: Site, tmp_path: Path) -> None:
    path = tmp_path / "some.html"
    written = write_export(path, (site.root,), "stage=rl", limit=50, cache=tmp_path / "cache")
    assert written.trajectories == written.matched
    watched = Watched.of(browser)
    watched.page.context.set_offline(True)
    requests: list[str] = []
    watched.page.on("request", lambda request: requests.append(request.url[:40]))
    page = watched.open(path.as_uri())
    assert counted(page.locator(".matched").inner_text()) == written.trajectories
    page.get_by_label("✗ wrong").check()
    rows = [one for stage, file in record_files(site.root) if stage == "rl" for one in read_records(file)]
    wrong = sum(not counts_as_right(one.task, one.trajectory) for one in rows)
    watched.until(lambda: counted(page.locator(".matched").inner_text()) == wrong)
    page.locator(".row-item a").first.click()
    page.wait_for_selector(".scene-head.wrong")
    page.keyboard.press("a")
    page.wait_for_selector(".page.group")
    page.goto(f"{path.as_uri()}#/run/{site.run}")
    page.wait_for_selector(".u-over", state="attached")
    assert watched.messages == []
    assert all(one.startswith(("file:", "data:")) for one in requests)
    page.close()


def test_the_report_is_an_export_with_its_sentences_first(browser: Browser, site: Site) -> None:
    write_report(RunPaths(root=site.root))
    watched = Watched.of(browser, width=390, scheme="dark")
    page = watched.open((site.root / "report.html").as_uri())
    story = page.locator("#report .story").bounding_box()
    table = page.locator("#report .cards").bounding_box()
    assert story
    assert table
    assert story["y"] < table["y"]
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.locator("#report details").first.evaluate("one => one.open = true")
    page.locator("#report .open-whole").first.evaluate("one => one.click()")
    page.wait_for_selector(".scene-head")
    assert not watched.is_wider_than_the_window
    assert watched.messages == []
    page.close()


def test_what_a_model_wrote_never_runs_and_shows_its_hidden_characters(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at(f"/t/{site.hostile}"))
    assert page.locator("#view script, #view iframe, #view .said img, #view .said b").count() == 0
    assert "<script>alert('text')</script>" in page.locator(".said").first.inner_text()
    assert "U+202E" in page.locator(".hidden-character").first.inner_text()
    assert watched.messages == []
    page.close()


def test_a_list_grows_while_it_is_looked_at(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at("/list"))
    watched.until_indexed()
    before = counted(page.locator(".matched").inner_text())
    page.evaluate("window.isTheSamePage = true")
    add_group(site.root, Position(stage="rl", step=28))
    watched.until(lambda: counted(page.locator(".matched").inner_text()) == before + 5)
    assert page.evaluate("window.isTheSamePage")
    assert watched.messages == []
    page.close()


def test_a_mark_is_written_beside_the_run_and_read_again(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at(f"/t/{site.looked}"))
    page.locator(".annotate").locator("xpath=..").locator("summary").click()
    page.get_by_label("why").fill("the gold answer names another plate")
    page.get_by_label("your name").fill("Ada")
    page.get_by_role("button", name="Mark", exact=True).click()
    page.wait_for_selector(".annotations li")
    watched.open(site.at("/marks"))
    page.wait_for_selector(".annotations li")
    assert "Ada" in page.locator(".annotations").inner_text()
    watched.open(site.at(f"/t/{site.looked}"))
    page.get_by_role("button", name="Withdraw").click()
    page.wait_for_selector(".annotations li", state="detached")
    kept = (site.root / "annotations.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in kept] == ["annotation", "retraction"]
    page.close()


def test_curves_are_smoothed_with_the_raw_line_behind_and_have_a_logarithmic_axis(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at(""))
    canvas = page.locator(".curve canvas").first
    pixels = [canvas.evaluate("one => one.toDataURL()")]
    page.get_by_label("Smoothing").fill("0.9")
    pixels.append(canvas.evaluate("one => one.toDataURL()"))
    page.get_by_label("logarithmic").check()
    pixels.append(canvas.evaluate("one => one.toDataURL()"))
    assert len(set(pixels)) == 3
    page.get_by_label("logarithmic").uncheck()
    page.get_by_label("Smoothing").fill("0")
    assert canvas.evaluate("one => one.toDataURL()") == pixels[0]
    assert watched.messages == []
    page.close()


def test_runs_beside_each_other_begin_with_what_differs_in_short_sections_whose_metrics_are_found(
    browser: Browser, site: Site
) -> None:
    watched = Watched.of(browser, width=1400)
    page = watched.open(beside(site))
    page.locator(".curve canvas").first.wait_for()
    assert page.locator("#view h2").all_inner_texts()[:2] == ["Settings that differ", "Accuracy"]
    assert page.locator(".settings tbody tr").all_inner_texts() == ["seed\t0\t1"]
    measured = "all => all.map(one => one.getBoundingClientRect().height)"
    heights = page.locator("#view section.short, .all-curves section section, .all-curves > div > section")
    assert 0 < max(heights.evaluate_all(measured)) <= 400
    right = page.locator(".short thead th:last-child").evaluate_all(measured.replace("height", "right"))
    assert max(right) < 1400
    titles = page.locator(".curve figcaption b").locator("visible=true")
    shown = titles.all_inner_texts()
    page.get_by_label("Find a metric").fill("Accuracy")
    watched.until(lambda: titles.all_inner_texts() != shown)
    assert all("accuracy" in title for title in titles.all_inner_texts())
    page.get_by_label("Find a metric").fill("")
    watched.until(lambda: titles.all_inner_texts() == shown)
    assert watched.messages == []
    page.close()


def test_bars_of_a_group_are_as_long_as_their_rewards_not_as_the_best_of_them(browser: Browser, site: Site) -> None:
    watched = Watched.of(browser)
    page = watched.open(site.at(f"/group/{site.looked}"))
    assert "bar: 0 to 1.1" in page.locator(".group thead").first.inner_text()
    read = (
        "all => all.map(one => [+one.querySelector('.interval').getAttribute('width'), +one.nextSibling.textContent])"
    )
    bars = page.locator(".group td:has(svg.share) > svg").evaluate_all(read)
    assert len(bars) == 4
    assert [width for width, _ in bars] == pytest.approx([100 * reward / 1.1 for _, reward in bars])
    page.close()


def test_terms_of_a_reward_add_up_on_its_bar(browser: Browser, site: Site) -> None:
    scene = asked(f"{site.address}/api/runs/{site.run}/trajectories/{site.looked}")
    terms = [Term(one["name"], float(one["value"]), float(one["weight"])) for one in scene["reward"]["terms"]]  # type: ignore[call-overload]
    watched = Watched.of(browser)
    page = watched.open(site.at(f"/t/{site.looked}"))
    assert page.locator(".reward h2").inner_text() == f"Reward {sum(term.contribution for term in terms):g}"
    page.close()
