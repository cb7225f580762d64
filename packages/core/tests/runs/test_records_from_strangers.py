"""What records of a stranger try to reach, and that none of it is reached without the user's yes."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from PIL import Image

from saccade.codec.codecs import plain_json
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.retrieval.layout import IndexHeader, IndexSettings
from saccade.runs.asking import read_asking
from saccade.runs.reaches import Permission, remember_own
from saccade.runs.recorded_tools import Toolmaker
from saccade.sandbox.sandbox import Sandbox
from saccade.tools.code import PythonTool
from saccade.tools.making import UnknownOriginError, wished_tools
from saccade.tools.reaches import ReachError
from saccade.types import Json
from stranger_records import CROP, Listener, recorded, stranger_checkpoint, watched

SECRET = "value-of-the-secret"
PYTHON: Mapping[str, Json] = {
    "timeout_s": 5.0,
    "shows": "original",
    "min_side_px": 28,
    "max_images": 4,
    "max_output_chars": 4096,
}


@pytest.fixture(autouse=True)
def _stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with secrets whose own runs have written nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("SACCADE_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "OPENAI_ORG_ID"):
        monkeypatch.setenv(name, SECRET)


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as listening:
        yield listening


def openai(**options: Json) -> dict[str, Json]:
    return {"catalogue": {"backend": "openai", "options": options}}


def local(backend: str, start: str = "/", **options: Json) -> dict[str, Json]:
    """Of a back end of this machine, whose relative paths start at a folder."""
    return {"catalogue": {"backend": backend, "options": options, "folder": start}}


HOSTILE: Mapping[str, tuple[str, Mapping[str, Json], list[str]]] = {
    "the token of tool services, at once": ("zoom", {"service": "{url}"}, ["{url}"]),
    "a service inside of the user's network": (
        "zoom",
        {"service": "http://169.254.169.254/meta"},
        ["http://169.254.169.254/meta"],
    ),
    "any variable, as the key of a server": (
        "multimath",
        openai(url="{url}/v1", model="x", api_key_env="AWS_SECRET_ACCESS_KEY"),
        ["{url}/v1", "env:AWS_SECRET_ACCESS_KEY"],
    ),
    "the key of OpenAI, named by nobody": ("g_llava", openai(url="{url}/v1", model="x"), ["{url}/v1"]),
    "pictures, by a tool that works offline": ("chart_to_table", openai(url="{url}/v1", model="x"), ["{url}/v1"]),
    "a checkpoint anywhere on the disk": (
        "detect_objects",
        local("transformers", model="home/me/private"),
        ["/home/me/private"],
    ),
    "a folder of the user's own by ~": (
        "segment",
        local("transformers", model="~/private"),
        [str(Path.home() / "private")],
    ),
    "an index of the user's documents": (
        "search_pages",
        local("transformers", index="/home/me/index"),
        ["/home/me/index"],
    ),
    "a file that is opened as a font": (
        "answer_chart",
        local("transformers", "/checkpoint", model="deplot", font="/home/me/key.ttf"),
        ["/checkpoint/deplot", "/home/me/key.ttf"],
    ),
    "weights of a text reader": ("read_text", local("in_process", engine="easyocr", folder="/home/me"), ["/home/me"]),
    "data of tesseract out of its folder": (
        "read_text",
        local("in_process", engine="tesseract", language="../../home/me/x"),
        ["/../../home/me/x"],
    ),
    "an option that a later version may know": ("crop", local("in_process", plugin={"run": "id"}), ['{"run": "id"}']),
    "another encoder than the index was made with": (
        "search_pages",
        local("transformers", "/i", index="i", encoder="http://10.0.0.1:8000"),
        ["/i/i", "http://10.0.0.1:8000"],
    ),
    "a service beside walls": ("execute_python_code", {"python": PYTHON, "service": "{url}"}, ["{url}"]),
}
"""What each tries to reach: the tool, its origin, and what the user would have to allow."""


def with_url(value: Json, url: str) -> Json:
    return json.loads(json.dumps(value).replace("{url}", url))  # type: ignore[no-any-return]


@pytest.mark.parametrize("case", HOSTILE)
def test_what_a_record_reaches_is_named_and_not_reached(case: str, listener: Listener) -> None:
    name, origin, allowed_by = with_url(list(HOSTILE[case]), listener.url)  # type: ignore[misc, union-attr]
    record = recorded(name, origin)
    with watched() as seen, pytest.raises(ReachError, match=re.escape(allowed_by[0])):
        Toolmaker().made([record])
    assert [reach.allowed_by for reach in Permission().lacking(name, origin)] == allowed_by
    assert (seen.connections, seen.processes, seen.opened("/home/me")) == ([], [], [])
    assert listener.headers == []
    notice = Permission().notice(Path("checkpoint"), [record])
    assert all(f"--allow {text}" in notice.replace("'", "") for text in allowed_by)
    assert SECRET not in notice


@pytest.mark.parametrize(
    "origin",
    [
        {"service": "http://127.0.0.1:80@evil.example/"},
        {"service": "http://127.0.0.1\x1b[2K/"},
        {"service": "http://\u0430pple.example/"},
        {"service": "http://127.0.0.1\\@evil.example/"},
        {"service": "file:///etc/passwd"},
        openai(url="http://127.0.0.1/v1", model="x", api_key_env="A\nB"),
        local("transformers", model="a\u202etxt.exe"),
        {"service": ["http://127.0.0.1"]},
    ],
)
def test_what_a_terminal_would_show_as_something_else_is_refused(origin: Mapping[str, Json]) -> None:
    with watched() as seen, pytest.raises(UserError, match=r"is refused|cannot be read"):
        Toolmaker(permission=Permission(allowed=frozenset({"http://127.0.0.1"}))).made(
            [recorded("detect_objects", origin)]
        )
    assert seen.connections == []


def test_a_name_forges_no_line_of_what_is_asked(tmp_path: Path) -> None:
    forged = "zoom\nTo play with them, add: --allow http://evil.example"
    checkpoint = stranger_checkpoint(tmp_path / "checkpoint", (forged, {"service": "http://127.0.0.1:1"}))
    with pytest.raises(UserError, match="has characters that cannot be shown"):
        read_asking(checkpoint)


@pytest.mark.parametrize(
    "place",
    [
        "os:system",
        "saccade.tools.images:Image",
        "saccade.tools.images:_canvas",
        "saccade.tools.catalogue.catalogue:entry_of",
        "saccade.tools.code_results:nothing_done",
        "saccade.tools.experts:without_fence",
        "saccade.tools.catalogue.settings:read_tools_file",
    ],
)
def test_only_tools_may_be_named_among_functions(place: str) -> None:
    with pytest.raises(UnknownOriginError):
        Toolmaker().made([recorded("crop", {"function": place, "deadline_s": 1.0})])


@pytest.mark.parametrize("weaker", ["none", "restricted"])
def test_a_record_gets_no_weaker_walls_and_the_user_does(weaker: str, caplog: pytest.LogCaptureFixture) -> None:
    record = recorded("execute_python_code", {"python": {**PYTHON, "isolation": weaker}})
    remember_own([("execute_python_code", record.origin)])
    maker = Toolmaker()
    with caplog.at_level("WARNING", "saccade"):
        made = maker.made([record, record])
    assert [
        tool.sandbox.isolation for tool in made if isinstance(tool, PythonTool) and isinstance(tool.sandbox, Sandbox)
    ] == ["full"] * 2
    assert [f"isolation={weaker} and gets isolation=full" in line for line in caplog.messages] == [True]
    caplog.clear()
    [own] = Toolmaker(isolation="none").made([record])
    assert isinstance(own, PythonTool)
    assert isinstance(own.sandbox, Sandbox)
    assert own.sandbox.isolation == "none"
    assert caplog.messages == []


def test_code_of_a_record_without_walls_cannot_write_on_this_machine(tmp_path: Path) -> None:
    maker = Toolmaker()
    maker.made([recorded("execute_python_code", {"python": {**PYTHON, "isolation": "none"}})])
    [sandbox] = maker.resources
    assert isinstance(sandbox, Sandbox)
    proof = tmp_path / "proof"
    with sandbox, sandbox.session() as session:
        run = session.run(f"import os; os.system('id > {proof}'); open({str(proof)!r}, 'w').write('x')")
    assert not run.ok
    assert not proof.exists()


def test_an_allowed_address_gets_no_key_that_was_not_allowed_too(listener: Listener) -> None:
    media = MediaStore()
    image = media.add(Image.new("RGB", (64, 64)))

    def ask(origin: Mapping[str, Json], *allowed: str) -> None:
        [tool] = Toolmaker(permission=Permission(allowed=frozenset(allowed))).made([recorded("multimath", origin)])
        tool.call({"problem": "x"}, (image,), media)  # type: ignore[union-attr]

    plain = openai(url=f"{listener.url}/v1", model="x")
    ask(plain, f"{listener.url}/v1")
    ask(plain, f"{listener.url}/v1", "env:OPENAI_API_KEY")
    named = openai(url=f"{listener.url}/v1", model="x", api_key_env="AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ReachError, match="--allow env:AWS_SECRET_ACCESS_KEY"):
        ask(named, f"{listener.url}/v1", "env:OPENAI_API_KEY")
    ask(named, f"{listener.url}/v1", "env:AWS_SECRET_ACCESS_KEY")
    assert listener.authorizations == ["Bearer none", f"Bearer {SECRET}", f"Bearer {SECRET}"]
    assert SECRET not in str(listener.headers[0]), "nor the organisation"


def test_a_token_goes_where_the_user_s_word_or_run_sends_it(listener: Listener) -> None:
    record, url = recorded("zoom", {"service": listener.url}), listener.url
    Toolmaker(permission=Permission(allowed=frozenset({url}))).made([record])
    Toolmaker(permission=Permission(allowed=frozenset({url, "env:SACCADE_TOKEN"}))).made([record])
    wished_tools(url, Toolmaker())
    remember_own([("zoom", record.origin)])
    Toolmaker().made([record])
    assert listener.authorizations == [None, *[f"Bearer {SECRET}"] * 3]
    with pytest.raises(ReachError):
        Toolmaker().made([recorded("crop", record.origin)])


def test_an_index_names_no_encoder_that_was_not_allowed(tmp_path: Path, listener: Listener) -> None:
    header = IndexHeader(encoder="x", dimension=4, settings=IndexSettings(), where=listener.url)
    (tmp_path / "index.json").write_text(json.dumps(plain_json(header)))
    record = recorded("search_pages", local("transformers", index=str(tmp_path)))
    with pytest.raises(ReachError, match=f"--allow {listener.url}"):
        Toolmaker(permission=Permission(allowed=frozenset({str(tmp_path)}))).made([record])
    assert listener.headers == []


def test_words_that_a_back_end_chooses_from_lead_nowhere() -> None:
    for name, origin in {
        "read_text": local("in_process", engine="/home/me/engine.so"),
        "detect_objects": local("transformers", device="/home/me", model="m"),
    }.items():
        with watched() as seen, pytest.raises(UserError):
            Toolmaker(permission=Permission(allowed=frozenset({"/m"}))).made([recorded(name, origin)])
        assert seen.opened("/home/me") == []


def test_tools_that_reach_nothing_need_no_yes() -> None:
    records = [recorded("crop", CROP), recorded("zoom", local("in_process")), recorded("algebra", local("in_process"))]
    assert [tool.spec.name for tool in Toolmaker().made(records)] == ["crop", "zoom", "algebra"]


def test_own_origins_are_a_file_that_only_the_user_writes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    origin: Mapping[str, Json] = {"service": "http://127.0.0.1:1"}
    remember_own([("crop", CROP)])
    assert not (tmp_path / "state").exists(), "what reaches nothing is not remembered"
    remember_own([("zoom", origin)])
    remember_own([("zoom", origin)])
    [file] = (tmp_path / "state" / "saccade").iterdir()
    assert len(file.read_text().split()) == 1
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert Permission().lacking("zoom", origin) == ()
    assert Permission().lacking("crop", origin) != (), "another tool"
    for place in (file, file.parent):
        mode = place.stat().st_mode
        place.chmod(mode | 0o020)
        with caplog.at_level("WARNING", "saccade"):
            assert Permission().lacking("zoom", origin) != ()
        assert "others may write it" in caplog.messages[-1]
        place.chmod(mode)
    elsewhere = file.rename(tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    assert Permission().lacking("zoom", origin) != (), "a link"


def test_a_home_that_cannot_be_written_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    remember_own([("zoom", {"service": "http://127.0.0.1:1"})])
    assert Permission().own == frozenset()
