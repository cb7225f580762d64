"""Commands that are printed to be pasted into a shell."""

import re
import shlex
from pathlib import Path

import pytest

from places import source_files
from saccade.characters import shell_words

ONE_WORD = r"shell_words|repo\b|entry\.name|self\.people|NAME\b"
COMMAND = re.compile(rf"(?:saccade [a-z-]+|rm -r|cd|--include_path)(?: [^\s`{{}}\"]+)* {{(?!{ONE_WORD})")
"""A printed command with a value that is not quoted; names of repositories and tools have no blanks."""


def test_every_path_in_a_printed_command_is_quoted() -> None:
    found = [
        f"{name}: {line.strip()}"
        for name, file in source_files()
        for line in file.read_text().splitlines()
        if COMMAND.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("path", ["runs/first run ä", "it's here", "$HOME; rm -r x", "plain", "two\nlines"])
def test_a_path_is_one_word_to_the_shell(path: str) -> None:
    assert shlex.split(f"saccade view {shell_words(Path(path))}") == ["saccade", "view", path]
