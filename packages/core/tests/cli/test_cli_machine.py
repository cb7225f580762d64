"""What commands do of the machine before anything heavy."""

import os
import sys
import time
from pathlib import Path

import click
import pytest

from saccade.cli import options
from saccade.cli.machine import existing, open_in_browser
from saccade.errors import UserError
from saccade.heartbeat import PHASES
from saccade.models import base_checkpoint
from saccade.models.checkpoint import SHIPPED, is_tiny


# click does not wait for the opener that it starts.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(sys.platform != "linux", reason="xdg-open is Linux's")
def test_a_browser_is_opened_where_there_is_a_desktop_and_nothing_is_started_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener = tmp_path / "xdg-open"
    opener.write_text(
        f'#!/bin/sh\necho "$1" >> "{tmp_path}/opened.part"\nmv "{tmp_path}/opened.part" "{tmp_path}/opened"\n'
    )
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    open_in_browser("http://127.0.0.1:1/without")
    monkeypatch.setenv("DISPLAY", ":0")
    open_in_browser("http://127.0.0.1:1/with")
    while not (tmp_path / "opened").exists():
        time.sleep(0.01)
    assert (tmp_path / "opened").read_text() == "http://127.0.0.1:1/with\n"


def test_shipped_checkpoints_are_models_by_their_names() -> None:
    assert existing("--model", Path("saccade:base")) == base_checkpoint()
    assert set(SHIPPED) == {"saccade:base", "saccade:gym"}
    assert all(is_tiny(existing("--model", Path(name)) or Path()) for name in SHIPPED)
    with pytest.raises(UserError, match="'saccade:best' ships with Saccade; there are saccade:base, saccade:gym"):
        existing("--model", Path("saccade:best"))


@pytest.mark.parametrize(("arguments", "said"), [([], "measuring"), (["--quiet"], "")])
def test_a_command_with_a_quiet_option_tells_what_it_is_at_unless_that_is_given(
    arguments: list[str], said: str
) -> None:
    heard: list[str] = []

    @click.command()
    @options.quiet
    def measuring() -> None:
        heard.append(PHASES.in_words())

    main = click.Group(commands={"measuring": measuring})
    main.main(["measuring", *arguments], prog_name="saccade", standalone_mode=False)
    assert [one.partition(",")[0] for one in heard] == [said]
    assert PHASES.in_words() == ""
