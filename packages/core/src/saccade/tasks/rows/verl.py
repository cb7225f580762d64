"""Rows of verl: a prompt in messages, the right answer in ``reward_model`` (SkyRL: ``reward_spec``)."""

import re
from collections.abc import Mapping
from dataclasses import replace

from saccade.tasks.rows.fields import Row, RowError, RowValue, literal, mapping, optional_text
from saccade.tasks.rows.layouts import holds_messages
from saccade.tasks.rows.messages import messages_of, with_parts_pictures
from saccade.tasks.rows.parts import RowParts, row_parts, with_pictures

_OPTION = re.compile(r"(?:^|[\s(\[])([A-H])[.):\]]")


def read_verl(row: Row) -> RowParts:
    """The system message is left out: the protocol writes its own. A prompt in text is the user's message, and a gold
    ``{"target": ...}`` (Search-R1) what stands there.

    Where ``extra_info.question`` is part of the prompt it is the question, free of the prompt's own format rules; with
    the options that follow it there.
    """
    prompt = row.get("prompt")
    is_text = isinstance(prompt, str) and not holds_messages(prompt)
    messages = messages_of([{"role": "user", "content": prompt}] if is_text else prompt, "prompt")
    questions = [one.text for one in messages if one.role == "user"]
    if len(questions) != 1 or any(one.role == "assistant" for one in messages):
        raise RowError("prompt", f"must hold one user message and no answer; it has {len(questions)} user messages")
    extra = row.get("extra_info")
    extra = mapping(literal(extra, "extra_info"), "extra_info") if extra else {}
    question, notes = _without_rules(questions[0], extra.get("question"))
    notes += ["system prompts"] if any(one.role == "system" and one.text for one in messages) else []
    key = "reward_spec" if row.get("reward_model") is None and row.get("reward_spec") is not None else "reward_model"
    gold = mapping(literal(row.get(key), key) if _is_json(row.get(key)) else row.get(key), key).get("ground_truth")
    if isinstance(gold, Mapping) and gold.get("target") is not None:
        gold = gold["target"]
    images_key, row = with_pictures(row)
    row = with_parts_pictures(row, messages, images_key)
    parts = row_parts(row, question, gold, f"{key}.ground_truth", notes=notes)
    if parts.id is not None or extra.get("index") is None:
        return parts
    # The index alone would be the same in the train and the test file.
    place = [optional_text(row, "data_source"), optional_text(extra, "split"), optional_text(extra, "index")]
    return replace(parts, id="/".join(word for word in place if word))


def _is_json(value: RowValue) -> bool:
    return isinstance(value, str) and value.lstrip().startswith("{")


def _without_rules(prompt: str, bare: object) -> tuple[str, list[str]]:
    """The question without what the prompt says besides, but with its options."""
    if not isinstance(bare, str) or not bare.strip() or bare.strip() not in prompt:
        return prompt, []
    bare = bare.strip()
    before, _, rest = prompt.partition(bare)
    lines = rest.split("\n")
    marked = [place for place, line in enumerate(lines) if _OPTION.search(line)]
    has_options = {"A", "B"} <= set(_OPTION.findall(rest)) and not {"A", "B"} <= set(_OPTION.findall(bare))
    kept = "\n".join(lines[: marked[-1] + 1]) if has_options else ""
    markers = before.count("<image>") if "<image>" not in bare else 0
    left = rest.strip() != kept.strip() or before.replace("<image>", "").strip() != ""
    return "<image>" * markers + bare + kept, ["text cut from prompts"] if left else []
