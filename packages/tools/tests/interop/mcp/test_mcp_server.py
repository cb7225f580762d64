"""The server as a client of the official package sees it."""

import asyncio
import base64
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from PIL import Image

from saccade.errors import ToolError, UserError
from saccade.interop.mcp.images import ReceivedImages, UnknownImageError
from saccade.interop.mcp.server import mcp_server
from saccade.interop.mcp.serving import serve_http
from saccade.media.decode import ImageLimits
from saccade.media.encode import png_bytes
from saccade.media.store import MediaStore, image_hash
from saccade.tools.images import IMAGE_TOOLS, crop
from saccade.tools.tool import tool_from
from warm import TOOLS, WarmProcess

OWN_SERVER = str(Path(__file__).parent / "mcp_own_server.py")
RED = Image.new("RGB", (40, 30), (200, 0, 0))


def data_url(image: Image.Image) -> str:
    return "data:image/png;base64," + base64.b64encode(png_bytes(image)).decode()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def http_port() -> Iterator[int]:
    port = free_port()
    with WarmProcess([sys.executable, OWN_SERVER, str(port)], imported=TOOLS) as process:
        try:
            wait_for(port)
            yield port
        finally:
            process.terminate()
        assert process.wait(timeout=120) in (0, -15)


def wait_for(port: int) -> None:
    for _ in range(2400):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def test_offered_schemas_are_ours_but_for_the_picture() -> None:
    async def listed() -> dict[str, object]:
        async with Client(mcp_server(IMAGE_TOOLS)) as client:
            return {tool.name: tool for tool in await client.list_tools()}

    tools = asyncio.run(listed())
    assert list(tools) == [tool.name for tool in IMAGE_TOOLS]
    for tool in IMAGE_TOOLS:
        offered = tools[tool.name].input_schema  # type: ignore[attr-defined]
        ours = tool.spec.parameters
        assert offered["properties"].pop("image")["type"] == "string"
        assert offered["properties"] == {key: value for key, value in ours["properties"].items() if key != "image"}
        assert offered["required"] == ["image", *ours["required"]]
        assert offered["additionalProperties"] is False


def test_result_is_text_picture_and_structured_content_and_its_hash_names_the_picture_later() -> None:
    async def cropped_twice() -> None:
        async with Client(mcp_server(IMAGE_TOOLS)) as client:
            first = await client.call_tool_mcp("crop", {"image": data_url(RED), "bbox_2d": [0, 0, 20, 10]})
            text, picture, hint = first.content
            assert text.text == "the region, 20 x 10 px of the original"
            assert picture.mime_type == "image/png"
            assert first.structured_content == {
                "text": "the region, 20 x 10 px of the original",
                "data": {"box": [0, 0, 20, 10], "size": [20, 10]},
                "images": [{"hash": image_hash(RED.crop((0, 0, 20, 10))), "width": 20, "height": 10}],
            }
            key = first.structured_content["images"][0]["hash"]
            assert key in hint.text
            second = await client.call_tool_mcp("crop", {"image": key, "bbox_2d": [0, 0, 5, 5]})
            assert second.content[0].text == "the region, 5 x 5 px of the original"
            original = await client.call_tool_mcp("crop", {"image": image_hash(RED), "bbox_2d": [0, 0, 6, 6]})
            assert not original.is_error

    asyncio.run(cropped_twice())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "the argument image is missing; it is a picture: a data URL"),
        ({"image": "x", "bbox_2d": [1]}, "the argument bbox_2d is [1], but it must be a box"),
        (
            {"image": "/etc/hostname", "bbox_2d": [1, 2, 30, 30]},
            'the argument image is "/etc/hostname", but it must be',
        ),
        ({"image": 3, "bbox_2d": [1, 2, 30, 30]}, "the argument image is 3, but it must be a picture"),
        ({"image": "data:image/png;base64,%", "bbox_2d": [1, 2, 30, 30]}, "the data URL in the argument image is not"),
        ({"image": "data:image/png;base64,AAAA", "bbox_2d": [1, 2, 30, 30]}, "the argument image: not an image"),
        ({"image": data_url(RED), "bbox_2d": [1, 2, 3, 4]}, "bbox_2d covers only 2 x 2 px"),
        ({"image": data_url(RED), "bbox": [1, 2, 30, 30]}, "did you mean bbox_2d?"),
    ],
)
def test_refused_call_is_an_error_result_that_teaches(arguments: dict[str, object], message: str) -> None:
    async def refused() -> None:
        async with Client(mcp_server(IMAGE_TOOLS)) as client:
            result = await client.call_tool_mcp("crop", arguments)
            assert result.is_error
            assert message in result.content[0].text
            assert result.meta["saccade"] == {"failure": "refused"}

    asyncio.run(refused())


def test_over_stdio_a_broken_tool_is_marked_and_paths_lead_into_the_folder_only(tmp_path: Path) -> None:
    RED.save(tmp_path / "red.png")
    (tmp_path / "link.png").symlink_to("/etc/hostname")

    async def called() -> None:
        transport = StdioTransport(sys.executable, [OWN_SERVER, "0", str(tmp_path)], keep_alive=False)
        async with Client(transport) as client:
            good = await client.call_tool_mcp("flip", {"image": str(tmp_path / "red.png"), "direction": "vertical"})
            assert not good.is_error
            for outside in (str(tmp_path / "link.png"), str(tmp_path / ".." / "other.png"), "/etc/hostname"):
                bad = await client.call_tool_mcp("flip", {"image": outside, "direction": "vertical"})
                assert "paths must lie in" in bad.content[0].text
            broke = await client.call_tool_mcp("broken", {"image": data_url(RED)})
            assert broke.is_error
            assert broke.meta["saccade"] == {"failure": "machine"}
            slow = await client.call_tool_mcp("linger", {"seconds": 30})
            assert slow.meta["saccade"] == {"failure": "machine"}
            assert "longer than 0.3 s" in slow.content[0].text

    asyncio.run(called())


def test_over_http_the_token_is_needed_on_every_path(http_port: int) -> None:
    for path in ("/mcp", "/images"):
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            reply = httpx2.post(f"http://127.0.0.1:{http_port}{path}", content=b"{}", headers=headers)
            assert reply.status_code == 401


def test_over_http_a_browser_page_with_another_host_name_is_refused(http_port: int) -> None:
    headers = {"Authorization": "Bearer secret", "Host": "evil.example", "Accept": "application/json"}
    reply = httpx2.post(f"http://127.0.0.1:{http_port}/mcp", json={}, headers=headers)
    assert reply.status_code in (403, 421)


def test_over_http_a_large_picture_is_uploaded_and_then_named_by_its_hash(http_port: int) -> None:
    async def named() -> None:
        headers = {"Authorization": "Bearer secret"}
        reply = httpx2.post(f"http://127.0.0.1:{http_port}/images", content=png_bytes(RED), headers=headers)
        assert reply.json() == {"hash": image_hash(RED), "width": 40, "height": 30}
        broken = httpx2.post(f"http://127.0.0.1:{http_port}/images", content=b"x", headers=headers)
        assert broken.status_code == 422
        transport = StreamableHttpTransport(f"http://127.0.0.1:{http_port}/mcp", headers=headers)
        async with Client(transport) as client:
            result = await client.call_tool_mcp("crop", {"image": image_hash(RED), "bbox_2d": [0, 0, 8, 8]})
            assert result.content[0].text == "the region, 8 x 8 px of the original"

    asyncio.run(named())


def test_pictures_are_forgotten_when_others_need_their_room() -> None:
    pictures = [Image.effect_noise((64, 64), 90 + index).convert("RGB") for index in range(3)]
    size = max(len(png_bytes(picture)) for picture in pictures)
    received = ReceivedImages(max_bytes=2 * size + 10)
    for picture in pictures:
        received.add_to(received.store(), data_url(picture))
    with pytest.raises(UnknownImageError, match="send it as a data URL"):
        received.add_to(received.store(), image_hash(pictures[0]))
    assert received.add_to(received.store(), image_hash(pictures[2])).width == 64


def test_picture_over_the_limit_is_refused_before_it_is_decoded() -> None:
    received = ReceivedImages(limits=ImageLimits(max_bytes=100))
    with pytest.raises(ToolError, match="more than 100 bytes"):
        received.add_to(MediaStore(), "data:image/png;base64," + "A" * 200)


def test_server_without_tools_or_with_two_of_one_name_or_open_to_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no tool to offer"):
        mcp_server(())
    with pytest.raises(UserError, match="two tools are called crop"):
        mcp_server((tool_from(crop), tool_from(crop)))
    with pytest.raises(UserError, match="give a token"):
        serve_http(mcp_server(IMAGE_TOOLS), host="0.0.0.0", port=1, token=None)
    with pytest.raises(UserError, match="is not there"):
        ReceivedImages(folders=[tmp_path / "none"])
