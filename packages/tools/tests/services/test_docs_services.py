"""What docs/services.md shows is so."""

import re
from pathlib import Path

import httpx2
from PIL import Image
from served import Served

from places import ROOT
from saccade.media.store import MediaStore
from saccade.services.settings import ToolServerSettings, serving_of
from saccade.tools.catalogue.settings import read_tools_file

DOCS = (ROOT / "docs" / "services.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCS, re.DOTALL)


def test_the_environment_of_the_docs_is_made(server: Served) -> None:
    names: dict[str, object] = {}
    exec(compile(blocks("python")[0].replace("http://127.0.0.1:8400", server.url), "docs/services.md", "exec"), names)
    assert "env" in names


def test_the_configuration_of_the_docs_is_one(tmp_path: Path) -> None:
    file = tmp_path / "tools.toml"
    file.write_text(blocks("toml")[0])
    groups = {group.name: group for group in serving_of(read_tools_file(file)).groups}
    assert list(groups) == ["shared", "slow-tools", "detect_objects", "charts"]
    assert [tool.name for tool in groups["shared"].tools] == ["crop"]
    assert groups["detect_objects"].devices == ("0", "1")


def test_the_call_of_the_docs_is_answered(server: Served) -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (100, 80), "red"))
    httpx2.put(f"{server.url}/images/{image.hash}", content=media.export(image, server.file.parent).read_bytes())
    body = blocks("json")[0].replace("<hash>", image.hash)
    answer = httpx2.post(f"{server.url}/tools/crop", content=body, headers={"Content-Type": "application/json"})
    assert answer.json()["is_ok"]


def test_the_docs_name_every_setting_with_its_default() -> None:
    table = DOCS[DOCS.index("`[server]`:") : DOCS.index("`serving` of a tool")]
    rows = {}
    for line in table.splitlines():
        if line.startswith("| `"):
            _, keys, values, *_ = [cell.strip() for cell in line.split("|")]
            rows.update(zip(re.findall(r"`(\w+)`", keys), values.split(", "), strict=True))
    default = ToolServerSettings()
    shown = {name: f"{getattr(default, name)}".removesuffix(".0") for name in ToolServerSettings.__dataclass_fields__}
    assert rows == {**shown, "builder": "the catalogue"}


def test_the_docs_name_every_metric(server: Served) -> None:
    told = httpx2.get(f"{server.url}/metrics").text
    for name in set(re.findall(r"`(tool_\w+)\{", DOCS)):
        assert f"# TYPE {name.removesuffix('_total')}" in told or f"# TYPE {name} " in told
