"""The tools as a Ray Serve deployment. Needs Ray, which is not among the development packages: ``make ray``."""

import importlib.util
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import psutil
import pytest
from served import Served, wait_for

from saccade.errors import ToolError
from saccade.media.store import MediaStore
from saccade.services.client.remote_tools import RemoteTools
from saccade.testing import tiny_example
from saccade.tools.images import crop
from saccade.tools.tool import tool_from

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None or importlib.util.find_spec("grpc_reflection") is None,
        reason="Ray Serve is not here; make ray installs it and runs this file",
    ),
]

TOOLS = """
[tools.echo]
[tools.crop]
[tools.together]
serving = {workers = 1, batch = 4}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    environment = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    folder, arguments = tmp_path_factory.mktemp("ray"), ("--ray", "--workers", "2")
    # On a machine with other work Ray's own processes take a minute to start.
    with Served(folder, tools=TOOLS, arguments=arguments, environment=environment, within_s=300) as served:
        yield served


def test_tools_on_ray_give_what_they_give_here(cluster: Served) -> None:
    media = MediaStore()
    image = tiny_example(media).task.images[0]
    box = {"bbox_2d": [10, 20, 90, 60]}
    with RemoteTools(cluster.url) as remote:
        there = remote.tool("crop")
        for _ in range(4):
            assert there.call(box, (image,), media) == tool_from(crop).call(box, (image,), media)
        with pytest.raises(ToolError, match="never said"):
            remote.tool("echo").call({"text": "refuse"}, (), media)


def test_calls_on_ray_are_done_together_where_the_tool_can(cluster: Served) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = [one.json() for one in pool.map(lambda number: cluster.call("together", number=number), range(8))]
    assert [one["text"] for one in answers] == [f"{2 * number}" for number in range(8)]
    assert max(one["data"]["at_once"] for one in answers) > 1


def test_the_contract_on_ray_is_the_same(cluster: Served) -> None:
    assert cluster.call("ecco").status_code == 404
    assert cluster.post("crop", arguments={"bbox_2d": [0, 0, 9, 9]}, images=["ab" * 32]).status_code == 409
    assert [one["name"] for one in httpx2.get(f"{cluster.url}/tools").json()["tools"]] == ["echo", "crop", "together"]
    assert cluster.metric('tool_requests_total{status="404",tool="unknown"}') == 1
    assert httpx2.get(f"{cluster.url}/tools", headers={"Origin": "https://evil.example"}).status_code == 403
    assert httpx2.get(f"{cluster.url}/tools", headers={"Host": "evil.example"}).status_code == 403


def test_a_replica_that_is_killed_costs_no_call(cluster: Served) -> None:
    replicas = [
        one
        for one in psutil.process_iter(["cmdline"])
        if "ToolReplica" in " ".join(one.info["cmdline"] or ())
        or "tools-together" in " ".join(one.info["cmdline"] or ())
    ]
    assert replicas
    with RemoteTools(cluster.url, patience_s=120) as remote:
        os.kill(replicas[0].pid, signal.SIGKILL)
        assert remote.tool("together").call({"number": 21.0}, (), MediaStore()).text == "42"
    wait_for(lambda: not Path(f"/proc/{replicas[0].pid}").exists(), "the replica to be gone")
