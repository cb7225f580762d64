"""The export as a server of OpenEnv has the layout that OpenEnv's own commands check."""

import importlib
import sys
from pathlib import Path

import pytest
from fastapi import FastAPI
from openenv.cli._cli_utils import validate_env_structure
from openenv.cli._validation import get_deployment_modes, validate_multi_mode_deployment

from saccade.interop.exports.openenv_package import write_openenv
from saccade.interop.exports.questions import draw_questions

FAMILY = "visual_search"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("openenv")
    write_openenv(draw_questions(FAMILY, train=1, test=1), where)
    return where


def test_openenvs_own_commands_find_everything_but_the_lock_file(folder: Path) -> None:
    assert validate_env_structure(folder) == ["Recommended directory missing: outputs/"]
    is_valid, issues = validate_multi_mode_deployment(folder)
    assert [issue for issue in issues if "uv.lock" not in issue] == []
    assert not is_valid, "uv.lock is written by `uv lock`, which asks a package index"
    assert get_deployment_modes(folder)["docker"]
    (folder / "uv.lock").write_text("version = 1\n", encoding="utf-8")
    assert validate_multi_mode_deployment(folder) == (True, [])
    assert all(get_deployment_modes(folder).values())


def test_the_server_beside_the_package_is_the_packages_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    beside = importlib.import_module("server.app")
    client, models = importlib.import_module("client"), importlib.import_module("models")
    try:
        assert isinstance(beside.app, FastAPI)
        assert beside.app is importlib.import_module("saccade_visual_search.server.app").app
        assert client.SaccadeEnvClient.__module__.startswith("saccade_visual_search.saccade_environment_")
        assert models.SaccadeAction(text="x").model_dump()["text"] == "x"
    finally:
        for name in ("server", "server.app", "client", "models"):
            sys.modules.pop(name, None)


def test_the_servers_script_asks_for_a_token_beyond_this_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delenv("SACCADE_TOKEN", raising=False)
    monkeypatch.setattr(sys, "argv", ["server", "--host", "0.0.0.0"])
    # The copy of ``UserError`` is a class of the package.
    with pytest.raises(Exception, match="SACCADE_TOKEN"):
        importlib.import_module("saccade_visual_search.server.app").main()


def test_the_container_starts_the_installed_script_under_the_hubs_name(folder: Path) -> None:
    dockerfile = (folder / "server" / "Dockerfile").read_text(encoding="utf-8")
    assert 'server --host 0.0.0.0 --port 8000 ${SPACE_HOST:+--no-token --allow-host $SPACE_HOST}"' in dockerfile
    assert 'server = "saccade_visual_search.server.app:main"' in (folder / "pyproject.toml").read_text(encoding="utf-8")
    assert (folder / "README.md").read_text(encoding="utf-8").startswith("---\ntitle: visual_search\nsdk: docker\n")
