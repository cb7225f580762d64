"""How the native kernels come to be: built once, whole or not at all, and done without where that fails."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.native.library import SWITCH, BuildError, load_library, native_library
from saccade.private_folders import keep_compiled_code_private
from saccade.testing.ranks import FRESH

_COMPILER = """#!/bin/sh
[ "$1" = --version ] && exec g++ --version
built="$0.built"
if [ ! -f "$built" ]; then
    g++ "$@" -O0 -o "$built.$$" && mv "$built.$$" "$built" || exit 1
fi
while [ "$1" != -o ]; do shift; done
cp "$built" "$2"
"""


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The compiler without its optimiser, which gives what it has built once when it is asked again: what is tested is
    how a library is built and found, not what it computes."""
    script = tmp_path_factory.mktemp("compiler") / "g++"
    script.write_text(_COMPILER)
    script.chmod(0o755)
    return str(script)


@pytest.fixture(autouse=True)
def _with_compiler(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("parametrize") is None and native_library() is None:
        pytest.skip("there is no compiler here")


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_library_is_built_once_and_nothing_else_is_left(tmp_path: Path, compiler: str) -> None:
    load_library(tmp_path / "cache", compiler)
    [built] = (tmp_path / "cache").iterdir()
    made = built.stat()
    load_library(tmp_path / "cache", compiler)
    assert files(tmp_path / "cache") == [built.name]
    assert built.stat().st_mtime_ns == made.st_mtime_ns


def test_flags_of_the_environment_build_another_library(
    tmp_path: Path, compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_library(tmp_path, compiler)
    monkeypatch.setenv("CXXFLAGS", "-march=x86-64-v3 -DANYTHING")
    load_library(tmp_path, compiler)
    assert len(files(tmp_path)) == 2


def test_a_damaged_library_is_built_again(tmp_path: Path, compiler: str) -> None:
    load_library(tmp_path, compiler)
    [built] = tmp_path.iterdir()
    whole = built.read_bytes()
    damaged = tmp_path / built.name.replace("-", "-0")
    for content in (b"", whole[: len(whole) // 2], b"no library"):
        built.unlink()
        damaged.write_bytes(content)
        assert hasattr(load_library(tmp_path, compiler), "attend")
        assert built.read_bytes() == whole


def _load(directory: Path, compiler: str) -> None:
    assert hasattr(load_library(directory, compiler), "attend")


def _open_to_others(place: Path) -> None:
    place.chmod(0o777)


def _of_another(place: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(place, 65534, 65534)


@pytest.mark.parametrize("spoil", [_open_to_others, _of_another])
def test_a_folder_that_others_may_write_is_not_loaded_from(
    tmp_path: Path, compiler: str, spoil: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    if native_library() is None:
        pytest.skip("there is no compiler here")
    load_library(tmp_path / "cache", compiler)
    [built] = (tmp_path / "cache").iterdir()
    spoil(tmp_path / "cache")
    before = built.stat().st_atime_ns, files(tmp_path / "cache")
    with caplog.at_level(logging.WARNING):
        assert hasattr(load_library(tmp_path / "cache", compiler), "attend")
    refusal = f"{tmp_path / 'cache'}: it is another user's, or others may write there"
    assert any(said.startswith(refusal) for said in caplog.messages)
    assert (built.stat().st_atime_ns, files(tmp_path / "cache")) == before


@pytest.mark.parametrize("spoil", [_open_to_others, _of_another])
def test_a_library_that_others_may_write_is_built_again(
    tmp_path: Path, compiler: str, spoil: Callable[[Path], None]
) -> None:
    if native_library() is None:
        pytest.skip("there is no compiler here")
    load_library(tmp_path, compiler)
    [built] = tmp_path.iterdir()
    spoil(built)
    load_library(tmp_path, compiler)
    found = built.stat()
    assert (found.st_uid, found.st_mode & 0o777) == (os.geteuid(), 0o700)


def test_a_link_in_the_place_of_the_folder_or_of_a_library_is_not_followed(tmp_path: Path, compiler: str) -> None:
    load_library(tmp_path / "elsewhere", compiler)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BuildError, match="link"):
        load_library(tmp_path / "link", compiler)
    [built] = (tmp_path / "elsewhere").iterdir()
    aside = built.rename(tmp_path / "aside")
    built.symlink_to(aside)
    load_library(tmp_path / "elsewhere", compiler)
    assert not built.is_symlink()


def test_compiled_code_is_kept_where_nobody_else_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "TORCHINDUCTOR_CACHE_DIR"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for given, wanted in (("elsewhere", "elsewhere"), ("", str(tmp_path / "saccade" / "inductor"))):
        monkeypatch.setenv(name, given)
        keep_compiled_code_private()
        assert os.environ[name] == wanted
    (tmp_path / "saccade" / "inductor").chmod(0o777)
    monkeypatch.setenv(name, "")
    keep_compiled_code_private()
    alone = Path(os.environ[name])
    assert alone.parent != tmp_path / "saccade"
    assert alone.stat().st_mode & 0o777 == 0o700
    alone.rmdir()


def test_processes_may_build_it_at_once(tmp_path: Path, compiler: str) -> None:
    context = FRESH
    builders = [context.Process(target=_load, args=(tmp_path, compiler)) for _ in range(3)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert [builder.exitcode for builder in builders] == [0, 0, 0]
    assert all(name.endswith(".so") for name in files(tmp_path))
    _load(tmp_path, compiler)


def test_a_compiler_that_fails_is_quoted(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "no such flag" >&2\nexit 1\n')
    broken.chmod(0o755)
    with pytest.raises(BuildError, match="no such flag"):
        load_library(tmp_path / "cache", str(broken))
    assert files(tmp_path / "cache") == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, compiler: str) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(BuildError, match="cache"):
        load_library(tmp_path / "cache", compiler)


@pytest.mark.parametrize("compiler", ["no-such-compiler"])
def test_without_a_compiler_there_is_no_library(tmp_path: Path, compiler: str) -> None:
    with pytest.raises(BuildError, match="there is no C\\+\\+ compiler no-such-compiler"):
        load_library(tmp_path, compiler)


@pytest.mark.parametrize("switch", ["0"])
def test_the_switch_turns_it_off(monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    monkeypatch.setenv(SWITCH, switch)
    assert native_library() is None


@pytest.mark.parametrize("switch", ["yes"])
def test_another_value_of_the_switch_is_an_error(monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    monkeypatch.setenv(SWITCH, switch)
    with pytest.raises(UserError, match="SACCADE_NATIVE='yes'"):
        native_library()


def test_insisting_gives_the_library(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv(SWITCH, "1")
    with caplog.at_level(logging.WARNING):
        assert native_library() is not None
    assert caplog.text == ""
