"""What to rename in a row that fits no layout."""

import difflib
from collections.abc import Mapping, Sequence

from saccade.tasks.rows.fields import Row

SHOWN = 12

_WANTED: Mapping[str, Sequence[tuple[str, ...]]] = {
    "plain": [("question",), ("answer",)],
    "easyr1": [("problem",), ("answer",)],
    "trl": [("prompt",), ("solution",)],
    "verl": [("prompt",), ("reward_model",)],
    "sharegpt": [("conversations", "messages")],
    "alpaca": [("instruction", "query"), ("output", "response")],
}
"""The keys that layouts cannot do without, the most common layout first."""

_OTHER_NAMES: Mapping[str, str] = {
    "question": "q query questions question_text text prompt prefix instruction input user human problem statement",
    "answer": "a gt label labels target targets response output gold golden gt_answer final_answer correct_answer "
    "correct_choice ground_truth groundtruth gpt assistant reply solution completion suffix answer_text correct ans",
    "conversations": "dialog chat turns chats history",
    "image": "img picture pic photo imgs img_path image_file image_url image_name photos picture_path",
}
"""What people call the keys, in words between spaces."""

_PICTURE_KEYS = ("image", "images")


def refusal(row: Row, layouts: Sequence[str]) -> str:
    """Why a row fits no layout: its keys, and the nearest layout with the renaming by which it would fit.

    A row with a rejected answer is a pair of preferences, which asks for no renaming but for another recipe.
    """
    if any(str(key).startswith("rejected") for key in row):
        return "holds a pair of preferences and no right answer; pairs are for the recipe dpo (check-data --for dpo)"
    keys = ", ".join(sorted(map(str, row))[:SHOWN]) or "none"
    return f"fits no layout ({', '.join(layouts)}); its keys are {keys}{_nearest(row)}"


def renaming(row: Row, *wanted: str) -> dict[str, str]:
    """By which keys of the row those that are wanted may be meant; those that are there already are left out."""
    free = [key for key in row if row[key] not in (None, "", [])]
    found: dict[str, str] = {}
    for name in wanted:
        if name in free:
            free.remove(name)
    for name in wanted:
        if row.get(name) in (None, "", []):
            other = next((key for key in free if key.casefold() == name), None)
            other = other or next((key for key in free if key.casefold() in _OTHER_NAMES.get(name, "").split()), None)
            close = difflib.get_close_matches(name, [key.casefold() for key in free], n=1, cutoff=0.8)
            other = other or next((key for key in free if close and key.casefold() == close[0]), None)
            if other is not None:
                found[name] = other
                free.remove(other)
    return found


def _nearest(row: Row) -> str:
    best: tuple[int, int, str] | None = None
    for layout, groups in _WANTED.items():
        names = [next((name for name in group if name in row), group[0]) for group in groups]
        renamed = renaming(row, *names)
        missing = sum(name not in row and name not in renamed for name in names)
        cost = (missing, len(renamed))
        if missing < len(names) and (best is None or cost < best[:2]):
            best = (*cost, _how(layout, names, row, renamed))
    return "" if best is None else best[2]


def _how(layout: str, names: Sequence[str], row: Row, renamed: Mapping[str, str]) -> str:
    if not any(key in row for key in _PICTURE_KEYS):
        renamed = {**renamed, **renaming({key: row[key] for key in row if key not in renamed.values()}, "image")}
    missing = [name for name in names if name not in row and name not in renamed]
    steps = [f"rename `{old}` to `{new}`" for new, old in renamed.items()]
    steps += [f"add `{name}`" for name in missing]
    return f"; the nearest layout is {layout} ({', '.join(names)}, and images): {', '.join(steps)}" if steps else ""
