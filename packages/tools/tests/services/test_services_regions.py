"""Regions by a tool server: checked, counted, and never an empty region where the server lied or died."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from served import Served

from saccade.errors import MachineError, UserError
from saccade.geometry import Mask
from saccade.media.store import MediaStore
from saccade.rewards.argos import CachedRegions, RegionRequest
from saccade.services.client import RemoteRegions, RemoteTools
from saccade.services.client.remote_regions import GIVE_UP_AFTER, mask_of
from saccade.testing import tiny_example
from saccade.types import ImageRef

TOOLS = "[tools.detect_objects]\nserving = {workers = 1}\n[tools.segment]\n"
LYING = ("no list", "no box", "a short box", "a wide thing")
IMAGE = ImageRef(hash="picture", width=30, height=20)


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteRegions]:
    with (
        Served(tmp_path_factory.mktemp("regions"), tools=TOOLS) as served,
        RemoteTools(served.url, patience_s=5) as tools,
    ):
        yield RemoteRegions(tools=tools, media=MediaStore(), name="quarters", at_once=1)


def asked(remote: RemoteRegions, *labels: str) -> list[RegionRequest]:
    task = tiny_example(remote.media, 0).task
    return [RegionRequest(task=task, image_index=0, label=label) for label in labels]


def test_a_region_is_what_the_server_cut_out(remote: RemoteRegions) -> None:
    quarter = np.zeros((256, 256), dtype=np.bool_)
    quarter[:128, :128] = True
    assert remote.find(asked(remote, "cup", "nothing", "...", "x" * 65)) == [(Mask.from_array(quarter),), (), (), ()]
    assert remote.identity == "quarters, over 0.35 and 0.25, at most 16"


@pytest.mark.parametrize("label", LYING)
def test_a_lie_is_a_machines_failure(remote: RemoteRegions, label: str) -> None:
    [found] = remote.find(asked(remote, label))
    assert isinstance(found, MachineError)


def test_half_of_the_calls_may_fail_and_the_rest_is_right(remote: RemoteRegions) -> None:
    labels = [name for pair in zip(LYING, ("cup", "jar", "pot", "pan")) for name in pair]
    found = remote.find(asked(remote, *labels, "death", "lid"))
    assert [isinstance(one, MachineError) for one in found] == [True, False] * 4 + [True, False]
    cached = CachedRegions(inner=remote)
    again = cached.find(asked(remote, *labels, *labels))
    assert [isinstance(one, MachineError) for one in again] == [True, False] * 8
    assert cached.counts.as_counts() == {"region_requests": 16, "regions_sought": 8, "regions_failed": 4}


def test_a_server_that_is_gone_is_not_asked_on_and_on(tmp_path_factory: pytest.TempPathFactory) -> None:
    media = MediaStore()
    with (
        Served(tmp_path_factory.mktemp("gone"), tools=TOOLS) as served,
        RemoteTools(served.url, patience_s=0.3) as tools,
    ):
        regions = RemoteRegions(tools=tools, media=media, name="quarters", at_once=1)
        served.process.kill()
        served.process.wait()
        found = regions.find(asked(regions, *"abcdefgh"))
    assert all(isinstance(one, MachineError) for one in found)
    assert ["not asked" in str(one) for one in found] == [place >= GIVE_UP_AFTER for place in range(8)]


def test_a_server_without_the_tools_and_things_to_point_at_without_a_pointer(
    server: Served, remote: RemoteRegions
) -> None:
    with RemoteTools(server.url) as tools, pytest.raises(UserError, match="no tool 'detect_objects'"):
        RemoteRegions(tools=tools, media=MediaStore(), name="nothing")
    with pytest.raises(UserError, match="give pointer="):
        remote.find([replace(one, finder="pointer") for one in asked(remote, "cup")])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "no mask"),
        ({"size": [30, 20], "counts": [600]}, "of the size"),
        ({"size": [20, 30], "counts": [599]}, "do not add up"),
        ({"size": [20, 30], "counts": [700, -100]}, "do not add up"),
        ({"size": [20, 30], "counts": [float("nan"), 600]}, "do not add up"),
        ({"size": [20, 30], "counts": [True, 599]}, "do not add up"),
        ({"size": [20, 30], "counts": "zzzz"}, "cannot be read"),
        ({"size": [20, 30], "counts": None}, "no run lengths"),
        ([], "of the size"),
    ],
)
def test_masks_that_are_none(value: object, why: str) -> None:
    with pytest.raises(MachineError, match=why):
        mask_of(value, IMAGE)  # type: ignore[arg-type]


def test_a_ragged_mask_is_sent_compressed() -> None:
    chess = Mask.from_array(np.indices((20, 30)).sum(axis=0) % 2 == 1)
    assert mask_of({"size": [20, 30], "counts": chess.to_coco()}, IMAGE) == chess
