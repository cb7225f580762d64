"""Splits of a folder of questions: which file is to train on, and which is to measure on.

====================================================  ============================================================
a folder that holds                                   its splits
====================================================  ============================================================
``README.md`` with ``configs: data_files``            those that it names, of its only or default config
``train.jsonl``, ``my_val.parquet``, ``x.test.tsv``   by the words of their names, ``KEYWORDS``
``train-00000-of-00002.parquet``, also of other       the name before the number of the shard
names, such as ``testmini-00000-of-00001.parquet``
no such file itself, but ``train/`` and ``test/``,    by the names of the files below, else of the nearest folder
or ``data/``
``dataset_dict.json`` (``save_to_disk``)              those that it names
====================================================  ============================================================

Files whose names say no split are one part with those of ``train``. Beside those of another split they are ambiguous,
as is a name of two splits.
"""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from saccade.errors import UserError
from saccade.plain_files import plain_bytes
from saccade.tasks.rows.card import card_files
from saccade.tasks.rows.text_files import TEXT_KINDS, kind_of_file

KEYWORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
}
"""Words of names, and the splits that they mean; the words of the library ``datasets``."""
ALL = "all"
"""Every file, of whatever split."""
FILE_KINDS = (*TEXT_KINDS, ".parquet")
NO_TASKS = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json")
"""Files about data sets that lie beside them in a folder."""
SAVED = "dataset_dict.json"

Splits = Mapping[str, Sequence[Path]]
"""Files by the name of their split; those without one under the empty name."""

_SHARD = re.compile(r"(.+?)-[0-9]{3,}-of-[0-9]{3,}")
_WORD = re.compile(r"[a-z]+")
_MAX_DEPTH, _MAX_FOLDERS = 3, 1000
_SHOWN = 3


def task_files(folder: Path) -> list[Path]:
    """Files of a folder that hold tasks, by their names."""
    return sorted(file for file in folder.iterdir() if _is_task_file(file))


def splits_of_folder(folder: Path) -> Splits:
    """The task files of a folder by split. UserError where some may be of several, or are of none beside a split."""
    found = _files_by_split(folder)
    strange = [name for name in found if role_of(name) != "train" and name]
    if found.get("") and strange:
        raise UserError(
            f"{folder} holds {split_list(found, strange)} beside {_name_list(found[''])}, whose names say no split, or "
            f"two; give the file to read itself (and --held-out FILE), or read all as one with --split {ALL}"
        )
    if found.get("") and not strange:
        return {"": sorted(file for files in found.values() for file in files)}
    return found


def is_saved_dataset(directory: Path) -> bool:
    """Whether ``datasets.save_to_disk`` wrote this directory."""
    # ``dataset_info.json`` is no mark of it, LLaMA-Factory writes one too.
    return any((directory / name).is_file() for name in (SAVED, "state.json"))


def saved_splits(folder: Path) -> list[str]:
    """The splits of a folder that ``datasets.save_to_disk`` wrote; none where it is a single one."""
    record = folder / SAVED
    if not record.is_file():
        return []
    try:
        said = json.loads(plain_bytes(record))
        return [str(name) for name in said["splits"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{record} cannot be read: {type(error).__name__}: {error}") from error


def training_split(names: Collection[str], where: Path | str) -> str:
    """The split to train on; UserError, which names the option, where several may be meant."""
    return _one_of(names, "train", where) or _only(names, where)


def measured_split(names: Collection[str], where: Path | str) -> str:
    """The split to measure on: ``test``, else ``validation``, else the only one that is not to train on."""
    found = _one_of(names, "test", where) or _one_of(names, "validation", where)
    return found or _only([name for name in names if role_of(name) != "train"] or names, where)


def held_out_split(names: Collection[str], where: Path | str) -> str | None:
    """The split to hold out while another is trained on: ``validation``, else ``test``; None where there is neither."""
    return _one_of(names, "validation", where) or _one_of(names, "test", where)


def chosen_split(names: Collection[str], wanted: str, where: Path | str) -> str:
    """The split that is meant by a word such as ``val``; UserError for one that is not there."""
    meant = [name for name in (wanted, KEYWORDS.get(wanted.lower(), wanted)) if name in names]
    if not meant:
        raise UserError(f"{where} has no split {wanted!r}; choose one of {', '.join(sorted(names))}, or {ALL}")
    return meant[0]


def split_list(splits: Splits, names: Collection[str] | None = None) -> str:
    """``train (a.parquet, b.parquet), test (c.parquet)``."""
    chosen = splits if names is None else names
    return ", ".join(f"{name} ({_name_list(splits[name])})" if splits[name] else name for name in chosen)


def role_of(name: str) -> str:
    """``train``, ``validation`` or ``test``, as the words of a name say; empty where they say none, or several."""
    roles = {KEYWORDS[word] for word in _WORD.findall(name.lower()) if word in KEYWORDS}
    return roles.pop() if len(roles) == 1 else ""


def _one_of(names: Collection[str], role: str, where: Path | str) -> str | None:
    found = [name for name in names if role_of(name) == role]
    if role in found or len(found) < 2:
        return role if role in found else next(iter(found), None)
    raise UserError(f"{where} has several splits of {role}: {', '.join(found)}; choose one with --split NAME")


def _only(names: Collection[str], where: Path | str) -> str:
    if len(names) == 1:
        return next(iter(names))
    raise UserError(f"{where} has the splits {', '.join(sorted(names))}; choose one with --split NAME")


def _files_by_split(folder: Path) -> dict[str, list[Path]]:
    named = card_files(folder)
    if named:
        return {
            KEYWORDS.get(name.lower(), name): sorted(file for file in files if _is_task_file(file))
            for name, files in named.items()
        }
    top = task_files(folder)
    found: dict[str, list[Path]] = {}
    for file in top:
        found.setdefault(_split_in(file.name), []).append(file)
    if top:
        return found
    for file in sorted(_below(folder)):
        parts = file.relative_to(folder).parts
        name = next((name for part in reversed(parts) if (name := _split_in(part))), "")
        if name or parts[0] == "data":
            found.setdefault(name, []).append(file)
    return found


def _split_in(name: str) -> str:
    """The split that the name of a file or folder says; empty where it says none, or several."""
    shard = _SHARD.match(name)
    return KEYWORDS.get(shard[1].lower(), shard[1]) if shard else role_of(name)


def _below(folder: Path) -> Iterator[Path]:
    """Task files in the folders of a folder, bounded in depth and number; links to folders are not followed."""
    for count, (place, folders, files) in enumerate(os.walk(folder)):
        if count == _MAX_FOLDERS:
            return
        here = Path(place)
        deep = len(here.relative_to(folder).parts) >= _MAX_DEPTH
        folders[:] = [] if deep else sorted(name for name in folders if not name.startswith("."))
        yield from (here / name for name in files if _is_task_file(here / name))


def _is_task_file(file: Path) -> bool:
    return kind_of_file(file) in FILE_KINDS and file.name not in NO_TASKS


def _name_list(files: Sequence[Path]) -> str:
    more = [f"and {len(files) - _SHOWN} more"] if len(files) > _SHOWN else []
    return ", ".join([*(file.name for file in files[:_SHOWN]), *more])
