"""The HTTP contract of the service, against a server with real workers."""

import base64
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from PIL import Image
from served import Served, wait_for

from saccade.media.decode import decode_image
from saccade.media.encode import png_bytes
from saccade.media.store import image_hash

JSON = {"Content-Type": "application/json"}


def picture(shade: int = 7) -> Image.Image:
    return Image.merge("RGB", [Image.linear_gradient("L").resize((64, 48)).point(lambda v: v ^ shade)] * 3)


def kind_of(response: httpx2.Response) -> str:
    return str(response.json()["error"]["kind"])


def test_a_call_gives_the_tools_text(server: Served) -> None:
    response = server.call("echo", text="good morning")
    assert response.status_code == 200
    assert response.json() == {"is_ok": True, "refused": None, "text": "good morning", "data": {}, "images": []}


def test_a_policys_mistakes_are_results_that_teach(server: Served) -> None:
    by_check, by_tool = server.call("echo", txt="hello"), server.call("echo", text="refuse")
    assert (by_check.status_code, by_check.json()["is_ok"], by_check.json()["refused"]) == (200, False, "arguments")
    assert "did you mean text?" in by_check.json()["text"]
    assert (by_tool.status_code, by_tool.json()["is_ok"], by_tool.json()["refused"]) == (200, False, "tool")
    assert by_tool.json()["text"] == "this text is never said; choose another one"


@pytest.mark.parametrize("how", ["zero", "nan"])
def test_a_call_on_which_a_tool_breaks_is_refused_by_it(server: Served, how: str) -> None:
    response = server.call("broken", text=how)
    assert (response.status_code, response.json()["refused"]) == (200, "tool")
    assert response.json()["text"].startswith("broken failed on this call (")


@pytest.mark.parametrize("how", ["connection", "machine"])
def test_a_tool_whose_machine_fails_is_a_500_and_its_worker_goes_on(server: Served, how: str) -> None:
    before = [worker.pid for worker in server.workers()]
    response = server.call("broken", text=how)
    assert (response.status_code, kind_of(response)) == (500, "broken")
    assert [worker.pid for worker in server.workers()] == before


def test_what_a_tool_prints_does_not_disturb_its_worker(server: Served) -> None:
    server.call("broken", text="zero")
    assert server.call("echo", text="still here").json()["text"] == "still here"


def test_a_call_about_an_image_that_is_not_here_says_which_are_missing(server: Served) -> None:
    absent = "ab" * 32
    response = server.post("stripes", arguments={"count": 2}, images=[absent])
    assert (response.status_code, kind_of(response)) == (409, "missing_images")
    assert response.json()["error"]["missing"] == [absent]


def test_an_image_is_sent_once_and_its_results_are_here_for_the_next_call(server: Served) -> None:
    image = picture()
    key = image_hash(image)
    assert httpx2.put(f"{server.url}/images/{key}", content=png_bytes(image)).status_code == 201
    assert httpx2.put(f"{server.url}/images/{key}", content=png_bytes(image)).status_code == 200
    first = server.post("stripes", arguments={"count": 2}, images=[key]).json()
    made = [decode_image(base64.b64decode(one["png"]), "result") for one in first["images"]]
    assert [one.size for one in made] == [(64, 48), (32, 48), (32, 48)]
    assert [image_hash(one) for one in made] == [one["hash"] for one in first["images"]]
    second = server.post("stripes", arguments={"count": 4, "image": 2}, images=[key, first["images"][1]["hash"]])
    assert second.json()["data"] == {"widths": [8, 8, 8, 8]}


def test_the_server_tells_an_images_hash_and_gives_its_file_back(server: Served) -> None:
    raw = png_bytes(picture(9))
    stored = httpx2.post(f"{server.url}/images", content=raw)
    assert stored.status_code == 201
    assert stored.json() == {"hash": image_hash(picture(9)), "width": 64, "height": 48}
    assert httpx2.get(f"{server.url}/images/{stored.json()['hash']}").content == raw
    assert httpx2.get(f"{server.url}/images/{'cd' * 32}").status_code == 404


def test_an_image_under_another_ones_hash_is_refused(server: Served) -> None:
    response = httpx2.put(f"{server.url}/images/{'ef' * 32}", content=png_bytes(picture(11)))
    assert (response.status_code, kind_of(response)) == (409, "hash")
    assert httpx2.get(f"{server.url}/images/{'ef' * 32}").status_code == 404


def test_what_is_no_image_is_refused(server: Served) -> None:
    for body in (b"", b"hello", png_bytes(picture())[:60]):
        assert httpx2.post(f"{server.url}/images", content=body).status_code == 422


def test_no_path_leaves_the_image_store(server: Served) -> None:
    for name in ("..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "A" * 64, "ab"):
        assert httpx2.get(f"{server.url}/images/{name}").status_code in (404, 422)


def test_a_call_that_comes_again_is_not_run_again(server: Served, tmp_path: Path) -> None:
    note = tmp_path / "runs"
    body: dict[str, object] = {"arguments": {"seconds": 0.3, "note": str(note)}, "call_id": "again-1"}
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda _: server.post("slow", **body), range(3)))
    later = server.post("slow", **body)
    assert {one.text for one in (*together, later)} == {later.text}
    assert note.read_text() == "run\n"


def test_another_call_under_a_used_id_is_refused(server: Served) -> None:
    server.post("echo", arguments={"text": "one"}, call_id="twice-1")
    response = server.post("echo", arguments={"text": "two"}, call_id="twice-1")
    assert (response.status_code, kind_of(response)) == (409, "call_id")


def test_a_call_over_its_deadline_is_a_504_and_its_result_can_be_had_later(server: Served, tmp_path: Path) -> None:
    note = tmp_path / "runs"
    body: dict[str, object] = {"arguments": {"seconds": 0.4, "note": str(note)}, "call_id": "late-1"}
    late = server.post("slow", **body, deadline_s=0.05)
    assert (late.status_code, kind_of(late)) == (504, "deadline")
    assert server.post("slow", **body).json()["text"] == "slept 0.4 s"
    assert note.read_text() == "run\n"


def test_a_call_whose_deadline_passes_while_it_waits_is_never_run(server: Served, tmp_path: Path) -> None:
    note = tmp_path / "runs"
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(server.call, "slow", seconds=0.5, note=str(note))
        wait_for(note.exists, "the first call to run")
        second = server.post("slow", arguments={"seconds": 0, "note": str(note)}, deadline_s=0.05)
        assert (second.status_code, first.result().status_code) == (504, 200)
    assert server.call("slow", seconds=0).status_code == 200
    assert note.read_text() == "run\n"


def test_calls_that_wait_are_done_together_where_the_tool_can(server: Served, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with ThreadPoolExecutor(10) as pool:
        first = pool.submit(server.call, "together", number=0, gate=str(gate))
        wait_for((tmp_path / "waits").exists, "the first call to run")
        answers = [pool.submit(server.call, "together", number=number) for number in (*range(1, 8), -1)]
        wait_for(lambda: server.metric('tool_queue_length{group="together"}') == 8, "all others to wait")
        gate.touch()
    found = [one.result().json() for one in (first, *answers)]
    assert [one["text"] for one in found[:8]] == [f"{2 * n}" for n in range(8)]
    assert [one["data"]["at_once"] for one in found[:8]] == [1, *[4] * 7]
    assert (found[8]["is_ok"], found[8]["refused"]) == (False, "tool")


def test_a_full_queue_says_when_to_come_back(tmp_path: Path) -> None:
    tools = "[tools.slow]\n"
    with Served(tmp_path, server="queue = 2\n", tools=tools) as served, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: served.call("slow", seconds=0.5), range(8)))
    refused = [one for one in answers if one.status_code == 429]
    assert 1 <= sum(one.status_code == 200 for one in answers) <= 5
    assert len(refused) + sum(one.status_code == 200 for one in answers) == 8
    assert all(int(one.headers["Retry-After"]) >= 1 for one in refused)
    assert all(0 < one.json()["error"]["retry_after_s"] <= 5 for one in refused)


def test_an_unknown_tool_is_a_404_that_lists_the_tools(server: Served) -> None:
    response = server.call("ecco")
    assert response.status_code == 404
    assert "echo" in response.json()["error"]["message"]


def test_a_request_that_is_not_as_documented_is_a_422(server: Served) -> None:
    bodies = (
        b"",
        b"[]",
        b"{",
        b'{"argument": {}}',
        b'{"deadline_s": NaN}',
        b'{"images": ["x"]}',
        b'{"call_id": "a b"}',
    )
    for body in bodies:
        response = httpx2.post(f"{server.url}/tools/echo", content=body, headers=JSON)
        assert (response.status_code, kind_of(response)) == (422, "request"), body[:40]


@pytest.mark.parametrize("depth", [100, 700, 900, 950, 1000, 5000])
def test_arguments_nested_deeply_are_refused_at_the_latest_by_the_tool(server: Served, depth: int) -> None:
    body = b'{"arguments": {"text": ' + b"[" * depth + b"]" * depth + b"}}"
    response = httpx2.post(f"{server.url}/tools/echo", content=body, headers=JSON)
    assert response.status_code in (200, 400, 422)
    assert response.status_code != 200 or response.json()["refused"] == "arguments"


def test_a_body_that_is_too_large_is_refused_also_when_its_length_is_not_told(server: Served) -> None:
    body = b'{"arguments": {"text": "' + b"x" * (2 << 20) + b'"}}'
    told = httpx2.post(f"{server.url}/tools/echo", content=body, headers=JSON)
    untold = httpx2.post(f"{server.url}/tools/echo", content=iter([body[:1000], body[1000:]]), headers=JSON)
    assert (told.status_code, untold.status_code) == (413, 413)


def test_a_body_of_untold_length_is_read(server: Served) -> None:
    pieces = iter([b'{"arguments": {"te', b'xt": "in pieces"}}'])
    response = httpx2.post(f"{server.url}/tools/echo", content=pieces, headers=JSON)
    assert response.json()["text"] == "in pieces"


def test_the_server_tells_of_its_tools_and_its_health(server: Served) -> None:
    tools = {one["name"]: one for one in httpx2.get(f"{server.url}/tools").json()["tools"]}
    assert list(tools) == ["echo", "crop", "stripes", "broken", "slow", "deadly", "together"]
    assert tools["echo"]["parameters"]["required"] == ["text"]
    assert (tools["together"]["batches"], tools["echo"]["batches"]) == (True, False)
    assert httpx2.get(f"{server.url}/health").json() == {"status": "ok"}
    assert httpx2.get(f"{server.url}/ready").json() == {"status": "ready", "waiting_for": []}


def test_metrics_count_calls_by_tool_and_status(server: Served) -> None:
    line = 'tool_requests_total{status="404",tool="unknown"}'
    before = server.metric(line)
    server.call("nothing_of_the_kind")
    assert server.metric(line) == before + 1
    server.call("echo", text="counted")
    assert server.metric('tool_latency_seconds_count{tool="echo"}') >= 1
    assert server.metric('tool_queue_length{group="shared"}') == 0
    assert server.metric('tool_workers_ready{group="shared"}') == 1


def test_calls_are_logged_as_json_lines(server: Served) -> None:
    server.post("echo", arguments={"text": "x"}, call_id="logged-1")
    wait_for(lambda: any(line.get("call") == "logged-1" for line in server.log), "the call's line")
    line = next(line for line in server.log if line.get("call") == "logged-1")
    assert (line["level"], line["tool"], line["status"]) == ("info", "echo", 200)
    assert re.match(r"\d{4}-\d\d-\d\dT", str(line["time"]))


def test_a_call_that_cannot_be_handed_to_a_worker_fails_alone(server: Served) -> None:
    # Too deep to be written as JSON again, though it could just be read.
    for depth in range(960, 1000, 5):
        body = b'{"arguments": {"text": ' + b"[" * depth + b"]" * depth + b"}}"
        httpx2.post(f"{server.url}/tools/echo", content=body, headers=JSON)
    assert server.call("echo", text="all is well").json()["text"] == "all is well"
