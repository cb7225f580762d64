"""What was asked of servers is counted over all processes."""

from pathlib import Path

import pytest

from saccade.chat.chat_model import ChatCounts
from saccade.curation.teachers import Ledger
from saccade.errors import UserError


def test_counts_of_earlier_processes_are_added_and_roles_stay(tmp_path: Path) -> None:
    path = tmp_path / "new" / "counts.json"
    first = Ledger(path)
    assert not path.exists()
    teacher = first.of("teacher")
    teacher(ChatCounts(requests=1))
    teacher(ChatCounts(requests=2, prompt_tokens=7))
    first.of("checker")(ChatCounts(cache_hits=1))
    second = Ledger(path)
    second.of("teacher")(ChatCounts(requests=3))
    none = ChatCounts().as_counts()
    expected = {"teacher": {**none, "requests": 5, "prompt_tokens": 7}, "checker": {**none, "cache_hits": 1}}
    assert second.counts() == expected
    assert Ledger(path).counts() == expected


@pytest.mark.parametrize("content", ["{", "[]", '{"teacher": 3}', '{"teacher": {"requests": 1}}'])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "counts.json").write_text(content)
    with pytest.raises(UserError, match="delete it to restart the count"):
        Ledger(tmp_path / "counts.json")
