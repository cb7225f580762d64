"""Hostile records in a browser: nothing of them runs, nothing outside is asked for, and they are shown as text."""

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hostile_texts import HOSTILE_TEXTS
from playwright.sync_api import Browser, sync_playwright
from test_view_hostile import HOSTILE_TASKS, HOSTILE_TRAJECTORIES, TASK, TRAJECTORY, TURN
from test_viewer_pages import asked, until_indexed
from viewer_browser import Watched, launched, served
from viewer_fake_run import make_run

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Mc", "Me"}
TEXTS, SHAPES = 50, 51
MIN_SHOWN = 1000
REFUSED = 1
"""Shapes that the reader of records calls damaged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Records:
    address: str
    run: str
    by_step: dict[int, list[tuple[str, str]]]
    """Trajectory and task, by the step that their file names."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = launched(playwright)
        yield found
        found.close()


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    base = tmp_path_factory.mktemp("hostile_pages")
    folder = make_run(base / "run", n=2)
    texts = [line for number, text in enumerate(HOSTILE_TEXTS) for line in as_record(f"t{number}", text)]
    shapes = [{**TASK, **task, "id": f"s {name}"} for name, task in HOSTILE_TASKS.items()]
    shaped = [line for task in shapes for line in (task, {**TRAJECTORY, "task_id": task["id"]})]
    valued = [{**TRAJECTORY, **values} for values in HOSTILE_TRAJECTORIES.values()]
    write(folder / "evaluations" / "texts.jsonl", TEXTS, texts)
    write(folder / "evaluations" / "shapes.jsonl", SHAPES, [*shaped, TASK, *valued])
    with served(folder, base / "cache") as address:
        run = asked(f"{address}/api/runs")["runs"][0]["id"]
        by_step: dict[int, list[tuple[str, str]]] = {}
        for row in until_indexed(address, run):
            by_step.setdefault(int(row["step"]), []).append((row["id"], row["task"]))
        yield Records(address=address, run=run, by_step=by_step)


def as_record(task: str, text: str) -> tuple[dict[str, object], dict[str, object]]:
    """A question and an answer that say it wherever words may stand."""
    words = {"question": text, "answer": text, "family": text[:200], "source": text[:200], "choices": [text[:200]]}
    answer = {"type": "answer", "text": text}
    result = {"text": text, "images": [], "data": {"error_kind": text[:200], text[:200]: text[:200]}, "is_ok": False}
    turn = {**TURN, "text": text, "thought": text, "action": answer, "result": result}
    terms = [{"name": text[:200], "value": 1.0, "weight": 1.0}]
    score = {"terms": terms, "is_right": False, "evidence": {text[:200]: text[:200]}}
    values = {"task_id": task, "stream": text[:200], "failure": text[:200], "score": score, "turns": [turn]}
    return {**TASK, **words, "id": task}, {**TRAJECTORY, **values}


def write(path: Path, step: int, lines: list[dict[str, object]]) -> None:
    header = {"kind": "header", "version": 2, "stage": path.stem, "step": step}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines)))


def plain(text: str) -> str:
    """Without what is spelled out, and without marks and space."""
    kept = re.sub(r"⟨U\+[0-9A-F]+⟩", "", text)
    return "".join(one for one in kept if unicodedata.category(one) not in HIDDEN and not one.isspace())


def opened(watched: Watched, records: Records, trajectory: str) -> bool:
    """Whether it was shown; otherwise a word said why not."""
    page = watched.page
    page.goto(f"{records.address}/#/run/{records.run}/t/{trajectory}")
    shown = f"nav.steps a[href='#/run/{records.run}/group/{trajectory}']"
    page.wait_for_selector(f"{shown}, .page.trouble", state="attached")
    if page.locator(shown).count():
        return True
    assert "cannot be shown" in page.locator(".page.trouble").inner_text()
    page.goto(f"{records.address}/#/run/{records.run}/list?stage=shapes")
    page.wait_for_selector(".page.list")
    return False


def test_sixty_hostile_texts_run_nothing_ask_for_nothing_outside_and_are_shown_as_text(
    browser: Browser, records: Records
) -> None:
    assert len(set(HOSTILE_TEXTS)) >= 60
    found = records.by_step[TEXTS]
    assert len(found) == len(HOSTILE_TEXTS)
    watched = Watched.of(browser)
    requests: list[str] = []
    watched.page.on("request", lambda request: requests.append(request.url))
    watched.open(f"{records.address}/#/run/{records.run}/list?stage=texts")
    for trajectory, task in found:
        text = HOSTILE_TEXTS[int(task.removeprefix("t"))]
        assert opened(watched, records, trajectory)
        said = watched.page.locator(".turn .said").first
        shown, wanted = plain(said.text_content() or ""), plain(text)
        assert wanted.startswith(shown), text[:80]
        assert len(shown) >= min(len(wanted), MIN_SHOWN), text[:80]
        assert said.locator(":not(span)").count() == 0, text[:80]
        question = plain(watched.page.locator("h1.question").text_content() or "")
        assert question[:200] == wanted[:200], text[:80]
        assert watched.messages == [], text[:80]
        assert watched.page.evaluate("[window.__pwned, ({}).polluted].every((one) => one === undefined)"), text[:80]
    assert watched.page.locator("#view :is(script, iframe, object, embed, base, meta, link, style)").count() == 0
    assert [one for one in requests if not one.startswith((records.address, "data:"))] == []
    watched.page.close()


def test_records_of_hostile_shapes_open_or_are_refused_in_words(browser: Browser, records: Records) -> None:
    """What the server does not have, a picture or a record that cannot be read, is all that the console may name."""
    watched = Watched.of(browser)
    found = records.by_step[SHAPES]
    assert len(found) > 25
    watched.open(f"{records.address}/#/run/{records.run}/list?stage=shapes")
    shown = [opened(watched, records, trajectory) for trajectory, _ in found]
    assert sum(shown) >= len(found) - REFUSED
    assert [one for one in watched.messages if not re.search(r"status of (404|422)", one)] == []
    assert watched.page.evaluate("window.__pwned === undefined")
    watched.page.close()
