"""The text of ``saccade settings RECIPE --yaml``: a file for ``--config`` that changes nothing, with meanings."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from saccade.train.recipe_loading import SettingDoc
    from saccade.types import Json

_WIDTH = 110
_Tree = dict[str, "SettingDoc | _Tree"]


def settings_file(
    found: "Sequence[SettingDoc]", run: "Mapping[str, Json]", *, papers: Mapping[str, str], larger: "Mapping[str, Json]"
) -> str:
    """All settings at their defaults below their meanings; ``run`` are the options of ``saccade train``.

    A setting in ``larger`` has another default for larger models, so it stands there as a comment.
    """
    lines = [
        "# saccade train FILE.yaml --out DIR. Each value is the default: change it, or leave its line out.",
        "run:",
    ]
    lines += [f"  {name}: {_value(value)}" for name, value in run.items()]
    body, _ = _block(_tree(found), "", papers, larger)
    return "\n".join([*lines, "", *body, ""])


def _tree(found: "Sequence[SettingDoc]") -> "_Tree":
    """The settings as they nest; those of a group that is none beside it, by their dotted names."""
    tree: _Tree = {}
    groups = {one.key for one in found if isinstance(one.default, Mapping)}
    absent = [one.key for one in found if one.default is None and any(k.key.startswith(f"{one.key}.") for k in found)]
    for one in found:
        if one.key in groups:
            continue
        outer = next((key for key in absent if one.key.startswith(f"{key}.")), None)
        above = (outer or one.key).split(".")[:-1]
        inner = tree
        for name in above:
            below = inner.setdefault(name, {})
            assert isinstance(below, dict)
            inner = below
        inner[".".join(one.key.split(".")[len(above) :])] = one
    return tree


def _block(
    tree: "_Tree", indent: str, papers: Mapping[str, str], larger: "Mapping[str, Json]"
) -> tuple[list[str], bool]:
    """The lines of a group, and whether one of them sets something."""
    lines: list[str] = []
    is_active = False
    for name, one in tree.items():
        if isinstance(one, dict):
            inner, has_value = _block(one, f"{indent}  ", papers, larger)
            lines += [f"{indent}{'' if has_value else '# '}{name}:", *inner]
            is_active = is_active or has_value
            continue
        says = [one.meaning, f"({one.kind})", *([f"[paper: {papers[one.key]}]"] if one.key in papers else [])]
        if one.key in larger:
            says.append(f"[larger models: {_value(larger[one.key])}]")
        text, start = " ".join(filter(None, says)), f"{indent}# "
        lines += textwrap.wrap(
            text, _WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False, break_long_words=False
        )
        # A group that is none would be there with one setting of it, and what depends on the model is left to it.
        is_set = one.key not in larger and "." not in name
        value = one.default if "." not in name else one.once_set
        is_known = "." not in name or value is not None
        lines.append(f"{indent}{'' if is_set else '# '}{name}: {_value(value) if is_known else ''}".rstrip())
        is_active = is_active or is_set
    return lines, is_active


def _value(value: "Json") -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
    text = text.removesuffix("\n").removesuffix("\n...")
    # Of several lines, it would have to be indented.
    return json.dumps(value) if "\n" in text else text
