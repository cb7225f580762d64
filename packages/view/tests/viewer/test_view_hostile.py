"""Hostile requests, records, indexes and pictures: nothing outside of the root is read, nothing hangs, all is words."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from starlette.testclient import TestClient
from view_client import only_run, viewing
from viewer_fake_run import make_run

from saccade.viewer.app.application import RunsViewer
from saccade.viewer.app.guards import CSRF_HEADER, POLICY

SECRET = "the secret outside of the root"
EVIL = "</script><script>evil()</script><svg onload=evil()>{{ 7*7 }}\u202e\x00\x1b[31m\ud800"
LINE = '{"kind": "trajectory", "task_id": "t", "family": "f", "stream": "s", "sample": 0, "seed": 1, '

TURN = {
    "index": 0,
    "text": EVIL,
    "thought": EVIL,
    "action": {"type": "answer", "text": EVIL},
    "is_well_formed": True,
    "result": None,
    "observation": None,
}
TASK = {
    "kind": "task",
    "id": "t",
    "family": EVIL,
    "question": EVIL,
    "answer": EVIL,
    "answer_kind": "text",
    "images": [],
    "choices": [EVIL],
    "tolerance": 0.0,
    "targets": [],
    "frame_times_s": [],
    "event_s": None,
    "difficulty": 0.5,
    "source": EVIL,
}
TRAJECTORY = {
    "kind": "trajectory",
    "task_id": "t",
    "family": EVIL,
    "stream": EVIL,
    "sample": 0,
    "seed": 1,
    "policy_version": 0,
    "status": "answered",
    "failure": EVIL,
    "score": {"terms": [{"name": EVIL, "value": 1.0, "weight": 1.0}], "is_right": True},
    "turns": [TURN],
    "segments": [],
}


def call(**arguments: object) -> dict[str, object]:
    return {"turns": [{**TURN, "action": {"type": "tool_call", "name": EVIL, "arguments": arguments}}]}


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = {"a": value}
    return value


HASH = "a" * 64
IMAGE = {"hash": HASH, "width": 10, "height": 10}
HOSTILE_TASKS: dict[str, dict[str, object]] = {
    "image of a path": {"images": [{"hash": "../../secret", "width": 1, "height": 1}]},
    "image of no size": {"images": [{"hash": HASH, "width": 0, "height": -5}]},
    "image of a huge size": {"images": [{"hash": HASH, "width": 10**30, "height": 10**30}]},
    "a million targets": {
        "images": [IMAGE],
        "targets": [{"label": EVIL, "box": [0, 0, 1, 1], "point": [0, 0], "mask": None, "image_index": 0}] * 2000,
    },
    "target on no image": {
        "targets": [{"label": EVIL, "box": [0, 0, 1, 1], "point": [0, 0], "mask": None, "image_index": 99}]
    },
    "target of NaN": {
        "images": [IMAGE],
        "targets": [{"label": "x", "box": [float("nan")] * 4, "point": [0, 0], "mask": None, "image_index": 0}],
    },
    "mask that lies": {
        "images": [IMAGE],
        "targets": [
            {
                "label": "x",
                "box": [0, 0, 1, 1],
                "point": [0, 0],
                "mask": {"width": 10**6, "height": 10**6, "counts": [10**12]},
                "image_index": 0,
            }
        ],
    },
    "question of megabytes": {"question": "x" * 3_000_000},
    "bidi id": {"id": "t\u202e", "question": "\u2066\u200f"},
}
HOSTILE_TRAJECTORIES: dict[str, dict[str, object]] = {
    "markup everywhere": {},
    "NaN reward": {"score": {"terms": [{"name": "a", "value": float("nan"), "weight": 1.0}], "is_right": None}},
    "infinite reward": {"score": {"terms": [{"name": "a", "value": float("inf"), "weight": -1.0}], "is_right": True}},
    "huge integers": {"sample": 10**40, "seed": 10**400},
    "negative sample": {"sample": -5},
    "a thousand terms": {
        "score": {"terms": [{"name": f"t{i}", "value": 1.0, "weight": 1.0} for i in range(1000)], "is_right": True}
    },
    "two terms of a name": {"score": {"terms": [{"name": "a", "value": 1.0, "weight": 1.0}] * 2, "is_right": True}},
    "unknown status": {"status": "<b>"},
    "no turns": {"turns": []},
    "five thousand turns": {"turns": [TURN] * 5000},
    "turn of megabytes": {"turns": [{**TURN, "text": "<b>" * 1_000_000}]},
    "boxes of all kinds": call(boxes=[[0, 0, 1, 1], [float("nan")] * 4, [1e308] * 4, "no", [5, 5, 1, 1]]),
    "deep arguments": call(a=deep(150)),
    "arguments that are a prototype": call(**{"__proto__": {"x": 1}, "constructor": 1}),
    "image number out of range": call(bbox_2d=[0, 0, 1, 1], image=10**9),
    "image number of a text": call(bbox_2d=[0, 0, 1, 1], image=EVIL),
    "tool data of a template": {
        "turns": [
            {**TURN, "result": {"text": EVIL, "images": [], "data": {"error_kind": EVIL, "x": EVIL}, "is_ok": False}}
        ]
    },
    "observation with a false hash": {"turns": [{**TURN, "observation": {"text": EVIL, "images": [IMAGE] * 300}}]},
    "segments of another kind": {"segments": [{"role": "evil", "turn": 0, "ids": [], "logprobs": [], "images": []}]},
    "more logprobs than ids": {
        "segments": [{"role": "action", "turn": 0, "ids": [1], "logprobs": [-1.0] * 50, "images": []}]
    },
    "ids out of the vocabulary": {
        "segments": [{"role": "action", "turn": 0, "ids": [-1, 10**18], "logprobs": [0.0, -1e308], "images": []}]
    },
    "evidence of a page": {"score": {"terms": [], "is_right": None, "evidence": {EVIL: [EVIL, float("nan")]}}},
    "mention far away": {"turns": [{**TURN, "boxes": [{"text": EVIL, "box": [1e300, -1e300, 1e300, 1e300]}]}]},
    "point of no picture": {
        "turns": [{**TURN, "points": [{"text": EVIL, "label": EVIL, "point": [1, 1], "image_index": -7}]}]
    },
    "advantages of NaN": {"advantages": [float("nan"), 1e300]},
    "advantages of texts": {"advantages": ["1"]},
}
HOSTILE_LINES: dict[str, bytes] = {
    "no JSON": b"<html>\n",
    "a list": b"[1, 2]\n",
    "null": b"null\n",
    "half a line": LINE.encode(),
    "zeros": b"\x00" * 1000 + b"\n",
    "ten megabytes": b'{"kind": "trajectory", "x": "' + b"x" * 10_000_000 + b'"}\n',
    "a hundred thousand brackets": b"[" * 100_000 + b"\n",
    "another kind": b'{"kind": "pickle"}\n',
    "a task of another type": b'{"kind": "task", "id": 7}\n',
    "no UTF-8": b'{"kind": "task", "id": "\xff\xfe"}\n',
    "a number of a million digits": b'{"kind": "task", "id": ' + b"9" * 1_000_000 + b"}\n",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, RunsViewer]]:
    """A run that is hostile all over, beside a file that nobody may read."""
    base = tmp_path_factory.mktemp("hostile")
    (base / "secret.jsonl").write_text(SECRET)
    (base / "secret.png").write_text(SECRET)
    folder = make_run(base / "run", n=4)
    header = json.dumps({"kind": "header", "version": 2, "stage": EVIL, "step": 3})
    for name, task in HOSTILE_TASKS.items():
        lines = [header, json.dumps({**TASK, **task})]
        trajectory = {**TRAJECTORY, "task_id": task.get("id", "t")}
        write(folder / "evaluations" / f"task {name}.jsonl", [*lines, json.dumps(trajectory)])
    for name, values in HOSTILE_TRAJECTORIES.items():
        lines = [header, json.dumps(TASK), json.dumps({**TRAJECTORY, **values}), json.dumps(TRAJECTORY)]
        write(folder / "evaluations" / f"trajectory {name}.jsonl", lines)
    for name, raw in HOSTILE_LINES.items():
        fine = "\n".join([header, json.dumps(TASK), json.dumps(TRAJECTORY)]).encode() + b"\n"
        (folder / "evaluations" / f"line {name}.jsonl").write_bytes(fine + raw + fine)
    (folder / "evaluations" / "link.jsonl").symlink_to(base / "secret.jsonl")
    (folder / "trajectories" / "linked").symlink_to(base)
    (folder / "media" / f"{'b' * 64}.png").symlink_to(base / "secret.png")
    (folder / "media" / f"{'c' * 64}.png").write_bytes(b"<svg onload='evil()'/>")
    (folder / "media" / f"{'d' * 64}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"broken" * 20)
    Image.new("1", (12_000, 12_000)).save(folder / "media" / f"{'e' * 64}.png")
    metrics = folder / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes() + b'{"stage": "<b>", "step": "x"}\n{"stage"\n' + b"[" * 5000 + b"\n")
    with viewing(base / "run", cache=base / "cache") as made:
        yield made


def write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")


def test_there_are_sixty_of_them() -> None:
    assert len(HOSTILE_TASKS) + len(HOSTILE_TRAJECTORIES) + len(HOSTILE_LINES) + len(REQUESTS) >= 60


def test_every_hostile_record_is_listed_opened_or_named(client: tuple[TestClient, RunsViewer]) -> None:
    asked, viewer = client
    run = only_run(viewer).id
    listed = asked.get(f"/api/runs/{run}/trajectories?limit=1000&stage={'%20'}&sort=-entropy")
    assert listed.status_code == 200
    answer = asked.get(f"/api/runs/{run}/trajectories?limit=1000").json()
    assert answer["total"] > 50
    for row in answer["rows"]:
        opened = asked.get(f"/api/runs/{run}/trajectories/{row['id']}")
        assert opened.status_code in (200, 422), (row, opened.text[:300])
        assert opened.headers["content-type"] == "application/json"
        assert SECRET not in opened.text
        # What is not ASCII is escaped, so that no byte of it can be anything but JSON.
        assert opened.content.isascii()
        for part in ("neighbours", "groups"):
            path = f"trajectories/{row['id']}/{part}" if part == "neighbours" else f"{part}/{row['id']}"
            assert asked.get(f"/api/runs/{run}/{path}").status_code == 200
    notes = " ".join(only_run(viewer).notes.values())
    for name in HOSTILE_LINES:
        assert f"line {name}.jsonl" in notes, name
    assert "link.jsonl" not in notes
    assert SECRET not in json.dumps(answer)


def test_lists_show_no_control_or_bidirectional_character(client: tuple[TestClient, RunsViewer]) -> None:
    asked, viewer = client
    run = only_run(viewer).id
    answers = [asked.get(f"/api/runs/{run}/trajectories?limit=1000").json(), asked.get("/api/runs").json()]
    for answer in answers:
        text = json.dumps(
            {**answer, "rows": [{**row, "task": ""} for row in answer.get("rows", [])]}, ensure_ascii=False
        )
        assert not any(hidden in text for hidden in "\u202e\u2066\u200f\x1b\x00")


R = "{run}"
REQUESTS: list[tuple[str, int]] = [
    ("/app/../server.py", 404),
    ("/app/%2e%2e/report.html.jinja", 404),
    ("/app/..%2f..%2fcli%2fview.py", 404),
    ("/app/application.py", 404),
    ("/app/shell.html.jinja", 404),
    ("/app//etc/passwd", 404),
    (f"/media/{R}/../../secret.png", 404),
    (f"/media/{R}/..%2f..%2fsecret.png", 404),
    (f"/media/{R}/secret.png", 404),
    (f"/media/{R}/{'b' * 64}.png", 404),
    (f"/media/{R}/{'c' * 64}.png", 404),
    (f"/media/{R}/{'d' * 64}.png?w=256", 404),
    (f"/media/{R}/{'e' * 64}.png?w=256", 404),
    (f"/media/{R}/{'A' * 64}.png", 404),
    (f"/media/{R}/{'a' * 64}.png?w=-1", 422),
    (f"/media/{R}/{'a' * 64}.svg", 404),
    ("/media/..%2f..%2f/x.png", 404),
    ("/api/runs/..%2f..", 404),
    ("/api/runs/%00", 404),
    (f"/api/runs/{R}/trajectories/..%2f..%2fsecret", 404),
    (f"/api/runs/{R}/trajectories/00000000.0", 404),
    (f"/api/runs/{R}/trajectories/" + "9" * 3000, 404),
    (f"/api/runs/{R}/trajectories?limit=100000000", 422),
    (f"/api/runs/{R}/trajectories?offset=-1", 422),
    (f"/api/runs/{R}/trajectories?reward_min=__import__", 422),
    (f"/api/runs/{R}/trajectories?{'&'.join('family=x' for _ in range(500))}", 422),
    (f"/api/runs/{R}/trajectories?q={'x' * 20_000}", 414),
    (f"/api/runs/{R}/trajectories?q=%5C%5C%22%5D%7D", 200),
    (f"/api/runs/{R}/trajectories?q=%ED%A0%80", 200),
    (f"/api/runs/{R}/trajectories?sort=__class__", 422),
    (f"/api/runs/{R}/annotations/export?format=pickle", 422),
    (f"/api/evaluations?a={R}/nothing&b=zz", 404),
    ("/docs", 404),
    ("/openapi.json", 404),
]


@pytest.mark.parametrize(("path", "status"), REQUESTS, ids=[path[:60] for path, _ in REQUESTS])
def test_a_hostile_request_is_refused_in_words(client: tuple[TestClient, RunsViewer], path: str, status: int) -> None:
    asked, viewer = client
    answer = asked.get(path.replace(R, only_run(viewer).id))
    assert answer.status_code == status, answer.text[:300]
    assert SECRET not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"].startswith("application/json")


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
    ],
    ids=str,
)
def test_pages_of_other_sites_get_nothing(client: tuple[TestClient, RunsViewer], headers: dict[str, str]) -> None:
    asked, _ = client
    assert asked.get("/api/runs", headers=headers).status_code == 403
    assert asked.post("/api/runs/x/annotations", headers=headers, json={}).status_code == 403


def test_nothing_is_written_without_the_token_of_the_page(client: tuple[TestClient, RunsViewer]) -> None:
    asked, viewer = client
    run = only_run(viewer)
    answer = asked.post(f"/api/runs/{run.id}/annotations", json={}, headers={CSRF_HEADER.decode(): "wrong"})
    assert answer.status_code == 403
    for method in ("PUT", "DELETE", "PATCH"):
        assert asked.request(method, f"/api/runs/{run.id}").status_code in (403, 405)
    too_large = asked.post(f"/api/runs/{run.id}/annotations", content=b"x" * (33 << 20))
    assert too_large.status_code == 413
    assert not run.annotations.path.exists()


def test_beyond_this_machine_the_token_is_asked_for(tmp_path: Path) -> None:
    token = "0123456789abcdef-long"
    folder = make_run(tmp_path / "run", n=2)
    with viewing(folder, cache=tmp_path / "cache", token=token) as (asked, _):
        assert asked.get("/api/runs").status_code == 401
        assert asked.get("/?token=wrong").status_code == 401
        assert asked.get("/api/runs", headers={"authorization": f"Bearer {token}"}).status_code == 200
        entered = asked.get(f"/?token={token}", follow_redirects=False)
        assert entered.status_code == 303
        assert "HttpOnly" in entered.headers["set-cookie"]
        assert "SameSite=Strict" in entered.headers["set-cookie"]
        assert asked.get("/api/runs").status_code == 200
