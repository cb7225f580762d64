"""The code of the page benchmarks.md runs as it stands there, on a small release."""

import re
from pathlib import Path

import pytest
from small_releases import write_release

from places import ROOT

PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def test_replies_are_read_by_three_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "benchmarks-data").mkdir()
    write_release("vstar", tmp_path / "benchmarks-data")
    monkeypatch.chdir(tmp_path)
    [code] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "docs/benchmarks.md", "exec"), names)
    assert len(names["rows"]) == 6  # type: ignore[arg-type]
    assert len(capsys.readouterr().out.splitlines()) == 3
