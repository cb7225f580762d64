"""The Dockerfiles agree with the tree: what they copy is there and sent, and what they install exists."""

import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FILES = sorted((ROOT / "docker").glob("*.Dockerfile"))


def instructions(path: Path) -> list[tuple[str, str]]:
    """Instruction and its words, continued lines joined, comments left out."""
    text = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


def test_there_is_one_for_a_cpu_and_one_for_cuda() -> None:
    assert [path.name for path in FILES] == ["cpu.Dockerfile", "cuda.Dockerfile"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_is_copied_is_in_the_tree_and_sent_to_the_builder(path: Path) -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    # All is left out but the named exceptions: neither environments nor runs nor .git reach the builder.
    assert next(line for line in ignored if line and not line.startswith("#")) == "*"
    sent = {line[1:] for line in ignored if line.startswith("!")}
    copied = [word for name, words in instructions(path) if name == "COPY" for word in shlex.split(words)[:-1]]
    assert {"pyproject.toml", "hashes.txt", "packages", PROJECT["readme"], *PROJECT["license-files"]} == set(copied)
    assert [one for one in copied if not (ROOT / one).exists() or one not in sent] == []
    assert not any(fnmatch(one, pattern) for one in copied for pattern in ignored[1:] if pattern[:1] not in ("!", "*"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_is_installed_exists(path: Path) -> None:
    steps = instructions(path)
    commands = " ".join(words for name, words in steps if name == "RUN")
    named = re.search(r"'\.\[(.+?)\]'", commands)
    assert named is not None
    extras = named[1].split(",")
    assert sorted(set(extras) - set(PROJECT["optional-dependencies"])) == []
    # The servers are what an image's ports are for; the viewer is always there.
    assert {"sandbox", "services"} <= set(extras)
    locked = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert all(pin in locked for pin in re.findall(r"torch==[\d.]+", commands))
    image = next(words for name, words in steps if name == "FROM")
    version = re.fullmatch(r"python:(3\.\d+)\.\d+-slim@sha256:[0-9a-f]{64}", image)
    assert version is not None
    assert version[1] in SpecifierSet(PROJECT["requires-python"])
    assert f"Programming Language :: Python :: {version[1]}" in PROJECT["classifiers"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_everything_that_an_image_installs_is_compared_with_its_hash(path: Path) -> None:
    runs = [words for name, words in instructions(path) if name == "RUN" and "pip install" in words]
    assert [words for words in runs if "grep '^" not in words and "--hash=sha256:" not in words][:-1] == []
    assert "--no-require-hashes --constraint hashes.txt --build-constraint hashes.txt" in runs[-1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_image_runs_the_command_as_a_user_that_is_not_root(path: Path) -> None:
    steps = instructions(path)
    user = next(words for name, words in steps if name == "USER")
    made = " ".join(words for name, words in steps[: steps.index(("USER", user))] if name == "RUN")
    assert re.search(rf"useradd [^&]*\b{user}\b", made)
    assert [words for name, words in steps if name == "ENTRYPOINT"] == ['["saccade"]']
