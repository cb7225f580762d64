"""``saccade eval --pixels``, and the pixel rules of benchmarks."""

import base64
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from saccade.cli.entry import run_command
from saccade.errors import UserError
from saccade.evaluation.benchmarks.benchmark import PixelRule
from saccade.media.store import MediaStore
from saccade.models import LoadSettings
from saccade.recipes.evaluation_pixels import (
    QWEN_IN_VLMEVALKIT,
    encoded_task,
    limited_settings,
    pixel_rule,
    view_at_server,
)
from saccade.testing.chat_server import ChatServer, chat_reply
from saccade.types import Task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a small file of V*."""
    buffer = io.BytesIO()
    Image.new("RGB", (60, 30), (9, 99, 199)).save(buffer, "PNG")
    image = base64.b64encode(buffer.getvalue()).decode()
    row = {"question": "Which?", "A": "red", "B": "blue", "answer": "B", "category": "c", "image": image}
    data = tmp_path / "data"
    data.mkdir()
    table = pd.DataFrame([{"index": place, **row} for place in range(2)])
    table.to_csv(data / "VStarBench.tsv", sep="\t", index=False)
    return data


def evaluated(server: ChatServer, folder: Path, out: Path, *more: str) -> list[tuple[int, int]]:
    """Sizes of the pictures that the server was sent."""
    before = len(server.received)
    command = ["eval", "--server", server.url, "--server-model", "m", "--benchmark", "vstar", "--protocol", "direct"]
    command += ["--benchmarks-dir", str(folder), "--out", str(out), "--quiet", *more]
    assert run_command(command) == 0
    found = []
    for received in server.received[before:]:
        for url in _urls(received.body):
            with Image.open(io.BytesIO(base64.b64decode(url.partition("base64,")[2]))) as sent:
                found.append(sent.size)
    return found


def _urls(body: object) -> list[str]:
    if isinstance(body, dict):
        return [body["url"]] if isinstance(body.get("url"), str) else [u for one in body.values() for u in _urls(one)]
    return [url for one in body for url in _urls(one)] if isinstance(body, list) else []


def test_a_server_is_sent_enlarged_pictures_and_the_run_is_not_compared_with_one_as_they_are(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, enlarged = tmp_path / "plain", tmp_path / "enlarged"
    with ChatServer(lambda _: chat_reply("<answer>B</answer>")) as server:
        assert evaluated(server, folder, plain) == [(60, 30)] * 2
        # Not one sample of the other run may be taken for one of this.
        sizes = evaluated(server, folder, enlarged, "--pixels", "vlmevalkit", "--reuse", str(plain))
    # Each side times sqrt(1280 * 28 * 28 / (60 * 30)), then up to the next multiple of 28.
    assert sizes == [(1428, 728)] * 2
    [record] = (enlarged / "benchmarks").glob("*.json")
    limits = {"encoding": "png", "min_pixels": 1_003_520, "max_pixels": 12_845_056}
    assert json.loads(record.read_text())["asked"]["pixels"] == {"rule": "vlmevalkit", **limits}
    capsys.readouterr()
    assert run_command(["compare", str(plain), str(enlarged)]) == 2
    assert "pixels" in capsys.readouterr().err


def test_pixels_without_a_benchmark_have_no_effect_and_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["eval", "--model", "m", "--family", "x", "--out", "o", "--pixels", "vlmevalkit"]) == 2
    assert "--pixels vlmevalkit has no effect without --benchmark" in capsys.readouterr().err


def test_a_checkpoint_is_loaded_with_the_limits(tmp_path: Path) -> None:
    rule = PixelRule(min_pixels=100, max_pixels=9000)
    assert limited_settings(LoadSettings(), rule, [], tmp_path) == LoadSettings(min_pixels=100, max_pixels=9000)
    assert limited_settings(LoadSettings(max_pixels=5), PixelRule(), ["model.max_pixels=5"], None) == LoadSettings(
        max_pixels=5
    )
    with pytest.raises(UserError, match=r"model\.max_pixels=5 and the pixel rule of the benchmark exclude each other"):
        limited_settings(LoadSettings(max_pixels=5), rule, ["model.max_pixels=5"], None)


@pytest.mark.parametrize(
    ("model_type", "is_one_of_its"), [("qwen2_5_vl", True), ("qwen2_vl", True), ("qwen3_vl", False)]
)
def test_vlmevalkits_limits_are_for_its_models(tmp_path: Path, model_type: str, is_one_of_its: bool) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    if is_one_of_its:
        assert limited_settings(LoadSettings(), QWEN_IN_VLMEVALKIT, [], tmp_path).min_pixels == 1_003_520
    else:
        with pytest.raises(UserError, match="is of qwen3_vl, for which VLMEvalKit sets no limits"):
            limited_settings(LoadSettings(), QWEN_IN_VLMEVALKIT, [], tmp_path)


def test_benchmarks_of_one_run_have_the_same_limits() -> None:
    small, large = PixelRule(max_pixels=10), PixelRule(max_pixels=20)
    assert pixel_rule("benchmark", [small, small]) == small
    assert pixel_rule("vlmevalkit", [small, large]) == QWEN_IN_VLMEVALKIT
    with pytest.raises(UserError, match="different limits of pixels"):
        pixel_rule("benchmark", [small, large])
    assert view_at_server(PixelRule(), "relative_1000").view_size(61, 31) == (61, 31)


def test_jpeg_is_what_a_decoder_makes_of_it() -> None:
    media = MediaStore()
    noise = np.random.default_rng(0).integers(0, 256, (24, 40, 3), dtype=np.uint8)
    task = Task(
        id="t", family="f", question="?", answer="1", answer_kind="number", images=(media.add(Image.fromarray(noise)),)
    )
    assert encoded_task(task, PixelRule(), media) == task
    [shown] = encoded_task(task, PixelRule(encoding="jpeg"), media).images
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "JPEG")
    with Image.open(buffer) as read:
        assert np.array_equal(np.asarray(media.get(shown)), np.asarray(read))
    assert shown != task.images[0]
