"""Data files that the card of a data set's folder names: ``configs: data_files`` of ``README.md``."""

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

import yaml

from saccade.errors import UserError
from saccade.plain_files import plain_bytes

CARDS = ("README.md", ".huggingface.yaml")
_MAX_FOLDERS = 1000
_MAX_PATTERNS, _MAX_PATTERN = 1000, 500


def refuse_outside_files(folder: Path) -> None:
    """UserError for a folder whose card names data files elsewhere: the library would open or fetch them."""
    for card, configs in _cards(folder):
        for config in configs:
            for file in _texts(config.get("data_files")):
                if "://" in file or Path(file).is_absolute() or ".." in Path(file).parts:
                    raise UserError(f"{card} names the data file {file[:200]!r}, outside the folder; take the line out")


def card_files(folder: Path) -> dict[str, list[Path]]:
    """Files below the folder by the split that its card puts them in; empty where the card names none that are there.

    UserError where it has several configs and no default one, or names files outside the folder.
    """
    refuse_outside_files(folder)
    for card, configs in _cards(folder):
        named = [config for config in configs if config.get("data_files")]
        default = [one for one in named if one.get("default") is True or one.get("config_name") == "default"]
        if len(named) > 1 and len(default) != 1:
            names = ", ".join(str(one.get("config_name"))[:40] for one in named[:8])
            raise UserError(f"{card} names several sets ({names}); give the file or folder of one of them")
        if named:
            return _files_by_split(folder, (default or named)[0].get("data_files"))
    return {}


def _cards(folder: Path) -> Iterator[tuple[Path, list[Mapping[str, object]]]]:
    for name in CARDS:
        card = folder / name
        if not card.is_file():
            continue
        try:
            yield card, _configs(plain_bytes(card).decode("utf-8", "replace"), is_yaml=card.suffix == ".yaml")
        except (OSError, yaml.YAMLError, RecursionError) as error:
            raise UserError(f"{card} cannot be read: {type(error).__name__}") from error


def _configs(text: str, *, is_yaml: bool) -> list[Mapping[str, object]]:
    """The configs of the YAML at the head of a card, or of a whole file; none of a text without one."""
    head = text.split("---", 2)[1] if text.startswith("---") and text.count("---") > 1 else text if is_yaml else ""
    values = yaml.safe_load(head)
    configs = values.get("configs") if isinstance(values, dict) else None
    return [one for one in configs if isinstance(one, dict)] if isinstance(configs, list) else []


def _files_by_split(folder: Path, data_files: object) -> dict[str, list[Path]]:
    """The files that the patterns of a config match, by split; one that is named without a split is to train on."""
    parts = data_files if isinstance(data_files, list) else [data_files]
    patterns: dict[str, list[str]] = {}
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("split"), str):
            patterns.setdefault(part["split"], []).extend(_texts(part.get("path")))
        elif isinstance(part, dict):
            for split, named in part.items():
                patterns.setdefault(str(split), []).extend(_texts(named))
        else:
            patterns.setdefault("train", []).extend(_texts(part))
    if sum(map(len, patterns.values())) > _MAX_PATTERNS:
        raise UserError(f"{folder}: its card names more than {_MAX_PATTERNS} files; use patterns")
    files = list(_files_below(folder))
    found = {
        split: [file for file in files if any(_matches(file.relative_to(folder), one) for one in wanted)]
        for split, wanted in patterns.items()
    }
    return {split: files for split, files in found.items() if files}


def _matches(path: Path, pattern: str) -> bool:
    if len(pattern) > _MAX_PATTERN:
        return False
    text, wanted = path.as_posix(), pattern.removeprefix("./").removeprefix("**/").rstrip("/")
    return fnmatchcase(text, wanted) or fnmatchcase(text, f"{wanted}/*") or fnmatchcase(text, f"*/{wanted}")


def _files_below(folder: Path) -> Iterator[Path]:
    for place, folders, names in islice(os.walk(folder), _MAX_FOLDERS):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place) / name for name in sorted(names))


def _texts(value: object) -> Sequence[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in _texts(item)]
