"""What each reading of the code protocol makes of a model's replies, by the prompt that they answer.

python -m studies.real_model.replies replies.jsonl

Each line is an object with ``prompt`` (any name) and ``reply``. The table counts turns that are well-formed, that run
code, that answer and that are malformed, and how much of the text stands after the first complete action.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from saccade.protocols import Reading, code_protocol, with_reading
from saccade.rollout.conversation import up_to_action
from saccade.turn_ends import up_to_stop
from saccade.types import Answer, Malformed

READINGS: tuple[Reading, ...] = ("strict", "lenient", "foreign")
COLUMNS = ("turns", "well-formed", "runs code", "answers", "malformed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replies", type=Path)
    lines = parser.parse_args().replies.read_text(encoding="utf-8").splitlines()
    replies = [(str(one["prompt"]), str(one["reply"])) for one in map(json.loads, lines)]
    print(f"| prompt | reading | {' | '.join(COLUMNS)} | after the action |")
    print(f"|---|---|{'---|' * (len(COLUMNS) + 1)}")
    # Turns of one conversation are one prompt.
    for prompt in sorted({prompt.partition(", turn")[0] for prompt, _ in replies}):
        texts = [reply for named, reply in replies if named.partition(", turn")[0] == prompt]
        for reading in READINGS:
            print(
                f"| {prompt} | {reading} | {' | '.join(map(str, counts(texts, reading)))} | {beyond(texts, reading)} |"
            )


def counts(texts: list[str], reading: Reading) -> list[int]:
    """A number for each of ``COLUMNS``."""
    protocol = with_reading(code_protocol(), reading)
    turns = [protocol.parse(up_to_stop(text, protocol.stop)) for text in texts]
    kinds = Counter(
        "malformed"
        if isinstance(turn.action, Malformed)
        else "answers"
        if isinstance(turn.action, Answer)
        else "runs code"
        for turn in turns
    )
    found = {"turns": len(turns), "well-formed": sum(turn.is_well_formed for turn in turns), **kinds}
    return [found.get(column, 0) for column in COLUMNS]


def beyond(texts: list[str], reading: Reading) -> str:
    """The share of characters that sampling would not have come to."""
    protocol = with_reading(code_protocol(), reading)
    kept = sum(len(up_to_action(up_to_stop(text, protocol.stop), protocol.fenced_actions)) for text in texts)
    return f"{1 - kept / max(1, sum(map(len, texts))):.0%}"


if __name__ == "__main__":
    main()
