"""The verifier as an HTTP service: parts of a score over a real server, and no score of what a machine fails."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import httpx2
import pytest
from PIL import Image

from saccade.errors import ToolError, UserError
from saccade.interop.verifier_tool import build
from saccade.media.store import MediaStore
from saccade.services.client import RemoteTools
from saccade.tools.catalogue.settings import ToolSettings

CONFIGURATION = """[server]
port = 0
builder = "saccade.interop.verifier_tool:build"

[tools.verify]
reward = "my_verifier.py:make"
serving = {workers = 1}
"""

VERIFIER = '''
from saccade.errors import MachineError
from saccade.rewards.argos import ArgosReward, ExactRegions, Verifier


class Regions(ExactRegions):
    """Known boxes; the picture must be there, and smoke breaks the machine."""

    def find(self, requests):
        for one in requests:
            assert MEDIA.get(one.image).size == (100, 50)
        if any(one.label == "smoke" for one in requests):
            return [MachineError("the detector is down") for _ in requests]
        return super().find(requests)


def make(media):
    global MEDIA
    MEDIA = media
    return ArgosReward(verifier=Verifier(regions=Regions()), reasoning_weight=0.0)


def down(media):
    async def reward(task, trajectory):
        raise MachineError("the judge is gone")

    return reward
'''

SMOKE = '<points x1="15" y1="15" alt="smoke">smoke</points>'
POINT = '<points x1="15" y1="15" alt="red plate">red plate</points>'
ASKED = {
    "question": "Which mark is on the red plate?",
    "answer": "white",
    "labels": '["red plate"]',
    "boxes": [[10, 10, 20, 20]],
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("verifier")
    (folder / "tools.toml").write_text(CONFIGURATION)
    (folder / "my_verifier.py").write_text(VERIFIER)
    command = [sys.executable, "-m", "saccade", "serve", str(folder / "tools.toml")]
    environment = {**os.environ, "SACCADE_TOKEN": "secret"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        port = next(int(found[1]) for line in server.stderr if (found := re.search(r'"port": (\d+)', line)))
        yield f"http://127.0.0.1:{port}"
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)


@pytest.fixture(scope="module")
def image(url: str) -> str:
    png = BytesIO()
    Image.new("RGB", (100, 50), "red").save(png, "PNG")
    stored = httpx2.post(f"{url}/images", content=png.getvalue(), headers={"Authorization": "Bearer secret"})
    return str(stored.json()["hash"])


def verified(url: str, image: str, thought: str, said: str, **asked: object) -> dict[str, object]:
    response = f"<think>{thought}</think><answer>{said}</answer>"
    given = {name: value for name, value in {**ASKED, **asked}.items() if value is not None}
    body = {"arguments": {**given, "response": response}, "images": [image]}
    reply = httpx2.post(f"{url}/tools/verify", json=body, headers={"Authorization": "Bearer secret"}, timeout=60)
    assert reply.status_code == 200, reply.text
    found: dict[str, object] = reply.json()
    return found


def test_a_picture_a_response_and_a_task_become_parts(url: str, image: str) -> None:
    found = verified(url, image, f"There is {POINT}.", "white")["data"]
    assert isinstance(found, dict)
    assert (found["score"], found["is_right"], found["evidence"]["hits"]) == (1.0, True, [True])
    assert found["parts"]["grounding"] == {"value": 1.0, "weight": 0.5, "filled_from": ""}
    assert verified(url, image, "I see.", "white")["text"] == "0.500: accuracy 1.000, grounding 0.000"
    assert verified(url, image, f"There is {POINT}.", "black")["text"] == "0.000: accuracy 0.000"


def test_a_machine_that_fails_gives_no_score_and_a_wrong_request_is_told(url: str, image: str) -> None:
    nothing = {"score": None, "failure": "the reward gave no verdict"}
    assert verified(url, image, f"There is {SMOKE}.", "white")["data"] == nothing
    # Where nothing is known, a point is neither hit nor missed.
    assert verified(url, image, f"There is {POINT}.", "white", labels=None, boxes=None)["data"] == nothing
    refused = verified(url, image, "I see.", "white", labels='["a", "b"]')
    assert (refused["is_ok"], refused["refused"]) == (False, "tool")
    assert "as many names as there are boxes, 1" in str(refused["text"])
    assert httpx2.post(f"{url}/tools/verify", content="{}").status_code == 401


def test_choices_several_pictures_videos_and_long_responses_are_scored(url: str, image: str) -> None:
    choices = {"answer": "B", "answer_kind": "choice", "choices": '["red", "blue"]'}
    found = verified(url, image, f"{'I look. ' * 3000}There is {POINT}.", "B. blue", **choices)["data"]
    assert isinstance(found, dict)
    assert found["score"] == 1.0
    with RemoteTools(url, "secret") as remote:
        media = MediaStore()
        pictures = [media.add(Image.new("RGB", (100, 50), colour)) for colour in ("red", "blue")]
        response = f"<think>In image 2 there is {POINT}.</think><answer>white</answer>"
        asked = {**ASKED, "box_images": "[2]", "response": response}
        [verify] = remote.tools
        assert verify.call(asked, pictures, media).data["score"] == 1.0
        assert verify.call({**asked, "box_images": "[1]"}, pictures, media).data["score"] == 0.5
        with pytest.raises(ToolError, match="box_images must have a number from 1 to 2"):
            verify.call({**asked, "box_images": "[3]"}, pictures, media)
        with pytest.raises(ToolError, match="1 times for 2 images"):
            verify.call({**asked, "frame_times_s": "[0]"}, pictures, media)


def test_a_reward_without_a_verdict_is_null_and_never_zero(tmp_path: Path) -> None:
    (tmp_path / "my_verifier.py").write_text(VERIFIER)
    tool = build(ToolSettings(name="verify", options={"reward": "my_verifier.py:down"}), tmp_path)
    picture = Image.new("RGB", (100, 50), "red")
    output = tool.function(
        image=picture, images=[picture], question="?", answer="white", response="<answer>white</answer>"
    )
    assert output.data == {"score": None, "failure": "the reward gave no verdict: the judge is gone"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("verify", {}, "reward=None must name a function"),
        ("verify", {"reward": "none.py:make"}, "there is no reward file"),
        ("verify", {"reward": "my_verifier.py:make", "model": "x"}, "unknown key 'model'"),
        ("other", {"reward": "my_verifier.py:make"}, "makes only the tool verify"),
    ],
)
def test_what_cannot_be_served_says_so(tmp_path: Path, name: str, options: dict[str, str], why: str) -> None:
    (tmp_path / "my_verifier.py").write_text(VERIFIER)
    with pytest.raises(UserError, match=why):
        build(ToolSettings(name=name, options=options), tmp_path)
