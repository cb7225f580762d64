"""Every reader over every published and hostile input, watched: nothing outside is read, run, asked or written."""

import json
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from loaders import LOADERS
from material import STRANGERS, make_material
from readers import NATIVE, READ_BY

from strangers import SECRET
from warm import run_warm

HERE = Path(__file__).parent
_READ = ("decoy opened", "open: ", "os.scandir: ", "os.listdir: ")
_PUBLISHING = ("push", "export", "export of records")

Found = Mapping[str, Mapping[str, Any]]
"""Of each reader, and each of its inputs."""


class Address:
    """An address at which nobody may ask; what came all the same is kept."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.asked.append(connection.recv(4096).decode("latin-1"))
                connection.sendall(b"HTTP/1.0 404 no\r\n\r\n")

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    found = Address()
    yield found
    found.close()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, address: Address) -> Found:
    root = tmp_path_factory.mktemp("strangers")
    plan = make_material(root, address.url)
    (root / "plan.json").write_text(json.dumps(plan))
    watching = [sys.executable, str(HERE / "watched_loads.py"), str(root / "plan.json")]
    run_warm(watching, check=True)
    return {name: json.loads((root / "results" / f"{place}.json").read_text()) for place, name in enumerate(LOADERS)}


def reached(label: str, entry: Mapping[str, Any]) -> list[str]:
    """What was reached, without what a link leads to where it is only read."""
    follows = label in STRANGERS and STRANGERS[label].follows
    return [one for one in entry["reached"] if not (follows and one.startswith(_READ))]


@pytest.mark.parametrize("name", LOADERS)
def test_a_reader_reaches_nothing_beyond_its_material(found: Found, name: str) -> None:
    assert "failed" not in found[name], found[name]["failed"]
    entries = found[name]["inputs"]
    assert entries
    assert {label: beyond for label, one in entries.items() if (beyond := reached(label, one))} == {}


@pytest.mark.parametrize("name", LOADERS)
def test_a_reader_reads_hostile_material_or_refuses_it_in_words(found: Found, name: str) -> None:
    entries = found[name]["inputs"]
    assert {label: one["outcome"] for label, one in entries.items() if one["outcome"].startswith("broke")} == {}


@pytest.mark.parametrize("name", LOADERS)
def test_no_message_holds_what_a_private_file_says(found: Found, name: str) -> None:
    entries = found[name]["inputs"]
    assert [label for label, one in entries.items() if SECRET in json.dumps([one["outcome"], one["printed"]])] == []


@pytest.mark.parametrize("name", _PUBLISHING)
def test_what_is_published_holds_nothing_that_a_link_leads_to(found: Found, name: str) -> None:
    assert [label for label, one in found[name]["inputs"].items() if one["holds_secret"]] == []


def test_nobody_asked_at_the_address(found: Found, address: Address) -> None:
    assert found
    assert address.asked == []


def test_control_characters_of_a_run_are_shown_and_not_obeyed(found: Found) -> None:
    label = "run: control characters everywhere"
    printed = {name: one["inputs"][label]["printed"] for name, one in found.items() if label in one["inputs"]}
    assert "U+001B" in printed["show"]
    assert any("\\x1b" in text for text in printed.values())
    assert [name for name, text in printed.items() if set(text) & set("\x1b\x9b\x07\r\u202e\u2028")] == []


@pytest.mark.parametrize("module", sorted(READ_BY.keys() - NATIVE))
def test_a_module_that_opens_material_was_watched_while_it_did(found: Found, module: str) -> None:
    assert f"saccade/{module}" in found[READ_BY[module]]["readers"]


def test_sound_material_is_read(found: Found) -> None:
    """Else nothing hostile would come as far as where it does harm."""
    outcomes = {
        name: one["inputs"][label]["outcome"]
        for name, one in found.items()
        for label in ("checkpoint: sound", "run: sound", "index: sound index", "file: sound video")
        if label in one["inputs"] and name in _READS_SOUND
    }
    assert set(outcomes.values()) == {"read"}, outcomes


_READS_SOUND = ("model", "model's plans", "record of asking", "report", "show", "figures", "compare", "push", "resume")
