"""Settings are nested frozen dataclasses; changed by text (``--set rl.steps=30``), kept as JSON."""

import dataclasses
import logging
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from saccade.config.setting_values import MismatchError, describe, near_keys, read_json, read_text, write_json
from saccade.errors import UserError
from saccade.types import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A value to put in a field, told apart from the tree of changes of a group of fields."""

    value: object


class Override(str):
    """A ``key=value`` of a configuration file, which knows its place for messages."""

    place: str

    @classmethod
    def at(cls, place: str, key: str, text: str) -> "Override":
        made = cls(f"{key}={text}")
        made.place = place
        return made


class AskForSettings(tuple[str, ...]):
    """Overrides that ask for the settings, with what a recipe adds: who applies them raises ``SettingsAsked``."""

    __slots__ = ()


class SettingsAsked(Exception):  # noqa: N818  it is an answer, not an error
    """Carries the settings that a recipe begins with, before anything else of it is done."""

    def __init__(self, settings: "DataclassInstance") -> None:
        super().__init__("settings were asked for")
        self.settings = settings


_Changes = dict[str, "_Leaf | _Changes"]

ABSENT = "(absent)"
"""Stands for the value of a key that one side of a comparison does not have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A dotted key whose values differ; written ``rl.steps: 30 -> 50``."""

    key: str
    before: Json
    after: Json

    def __str__(self) -> str:
        return f"{self.key}: {self.before} -> {self.after}"


def apply_overrides(settings: Settings, overrides: Sequence[str]) -> Settings:
    """New settings with each ``dotted.key=value`` applied in order; a later one wins.

    Values are read by the annotation of their field: int, float, bool, str, Path, Literal, tuple (``1,2,3``
    or a JSON list), ``X | None`` (``none``), nested dataclasses by their fields. Setting a field of a group
    that is None starts from that group's defaults. A group's optional method ``base_for(changes)`` gives the
    settings that its changes are put into, and its optional ``check()`` is called at the end, inner groups first.
    Its optional ``unused()`` gives the fields that nothing reads beside the others, dotted, with what makes them so:
    changes of these are logged as warnings.
    Raises UserError for an unknown key, a value of the wrong type, or what ``check`` finds.
    """
    known = setting_keys(type(settings))
    changes: _Changes = {}
    for override in overrides:
        key, equals, text = override.partition("=")
        key = key.strip()
        if not equals:
            raise UserError(f"--set {override!r} has no '='; write key=value, for example {next(iter(known))}=...")
        where = override.place if isinstance(override, Override) else "--set"
        if key not in known:
            raise UserError(f"{where} {_unknown_key(key, known)}")
        try:
            value = read_text(known[key], text.strip())
        except MismatchError as mismatch:
            expected = mismatch.expected or describe(known[key])
            raise UserError(f"{where} {key}={text.strip()}: {key} must be {expected}") from None
        _put(changes, key.split("."), _Leaf(value))
    changed = _with_changes(settings, type(settings), changes, "")
    if isinstance(overrides, AskForSettings):
        raise SettingsAsked(changed)
    check_settings(changed)
    warn_of_unused(settings, changed, _unused(changed))
    return changed


def warn_of_unused(before: Settings, after: Settings, unused: Mapping[str, str]) -> None:
    """Warn of changes to dotted fields, or groups of them, that nothing reads, each with what makes it so."""
    found = dict[str, list[str]]()
    for change in changes_between(to_json(before), to_json(after)) if unused else ():
        reasons = (why for name, why in unused.items() if f"{change.key}.".startswith(f"{name}."))
        if why := next(reasons, ""):
            found.setdefault(why, []).append(change.key)
    for why, keys in found.items():
        logger.warning("set without effect: %s (%s)", ", ".join(keys), why)


def _unused(settings: object, prefix: str = "") -> dict[str, str]:
    """Keys that nothing reads, of the settings and of their groups, each with what makes it so."""
    own: Callable[[], Mapping[str, str]] = getattr(settings, "unused", dict)
    found = {f"{prefix}{name}": why for name, why in own().items()}
    for name in _annotations(type(settings)):
        value = getattr(settings, name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            found |= _unused(value, f"{prefix}{name}.")
    return found


def setting_keys(kind: type) -> dict[str, object]:
    """Every key that can be set, dotted, with the annotation of its field, in order of definition."""
    keys: dict[str, object] = {}
    for name, annotation in _annotations(kind).items():
        group = _group_of(annotation)
        if group is None or group != annotation:
            keys[name] = annotation
        if group is not None:
            keys |= {f"{name}.{inner}": of for inner, of in setting_keys(group).items()}
    return keys


def check_settings(settings: object, prefix: str = "") -> None:
    """Call the ``check`` methods of nested settings, the inner ones first; they raise UserError.

    What ``check`` says begins with the name of a field, and ``prefix`` with the names of the groups is put before it.
    """
    for name in _annotations(type(settings)):
        value = getattr(settings, name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            check_settings(value, f"{prefix}{name}.")
    check = getattr(settings, "check", None)
    if not callable(check):
        return
    try:
        check()
    except UserError as error:
        raise UserError(f"{prefix}{error}") from error


def to_json(settings: "DataclassInstance") -> dict[str, Json]:
    """The settings as JSON values; ``from_json`` gives equal settings back."""
    values: dict[str, Json] = {}
    for name in _annotations(type(settings)):
        value = getattr(settings, name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            values[name] = to_json(value)
        else:
            values[name] = write_json(value)
    return values


def from_json(kind: type[Settings], values: Mapping[str, Json], *, where: str = "settings.json") -> Settings:
    """Settings of this class from what ``to_json`` wrote; fields that are missing get their defaults.

    Raises UserError that names ``where`` for unknown keys, wrong types, and missing required fields.
    """
    settings = _from_json(kind, values, where, "")
    check_settings(settings)
    return settings


def changes_between(before: Mapping[str, Json], after: Mapping[str, Json], prefix: str = "") -> list[Change]:
    """One change for each dotted key whose JSON value differs, in the order of ``before`` and then of ``after``."""
    changes: list[Change] = []
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name, ABSENT), after.get(name, ABSENT)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            changes += changes_between(old, new, f"{prefix}{name}.")
        elif old != new:
            changes.append(Change(key=f"{prefix}{name}", before=old, after=new))
    return changes


def _annotations(kind: type) -> dict[str, object]:
    """Annotations of the fields that hold values; one for a program's own object, such as a judge, is no setting.

    A field that looks like settings and is a recipe's to give says so: ``metadata={"setting": False}``.
    """
    hints = typing.get_type_hints(kind)
    fields = [field.name for field in dataclasses.fields(kind) if field.init and field.metadata.get("setting", True)]
    return {name: hints[name] for name in fields if not _holds_an_object(hints[name])}


def _holds_an_object(annotation: object) -> bool:
    kinds = (annotation, *typing.get_args(annotation))
    return any(typing.get_origin(kind) is Callable or getattr(kind, "_is_protocol", False) for kind in kinds)


def _group_of(annotation: object) -> "type[DataclassInstance] | None":
    """The dataclass that a field holds, for ``Group`` and ``Group | None``."""
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return annotation
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        groups = [group for group in map(_group_of, typing.get_args(annotation)) if group is not None]
        return groups[0] if groups else None
    return None


def _unknown_key(key: str, known: Mapping[str, object]) -> str:
    if any(name.startswith(f"{key}.") for name in known):
        inner = ", ".join(name for name in known if name.startswith(f"{key}."))
        return f"{key}: {key!r} is a group of settings; set one of: {inner}"
    near = near_keys(key, list(known))
    suggestion = f" Did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
    group = key.rpartition(".")[0]
    there = [name for name in known if name.rpartition(".")[0] == group]
    groups = dict.fromkeys(f"{name.partition('.')[0]}.*" for name in known if "." in name)
    listed = ", ".join([*there, *([] if group and there else groups)] or known)
    return f"{key}: there is no setting {key!r}.{suggestion} Known here: {listed}"


def _put(changes: _Changes, path: Sequence[str], leaf: _Leaf) -> None:
    if len(path) == 1:
        changes[path[0]] = leaf
        return
    inner = changes.get(path[0])
    if not isinstance(inner, dict):
        inner = {}
        changes[path[0]] = inner
    _put(inner, path[1:], leaf)


def _with_changes(settings: Settings | None, kind: type[Settings], changes: _Changes, prefix: str) -> Settings:
    if settings is None:
        settings = _with_defaults(kind, prefix)
    annotations = _annotations(kind)
    values: dict[str, object] = {}
    for name, change in changes.items():
        if isinstance(change, _Leaf):
            values[name] = change.value
        else:
            group = _group_of(annotations[name])
            assert group is not None
            values[name] = _with_changes(getattr(settings, name), group, change, f"{prefix}{name}.")
    base_for: Callable[[Mapping[str, object]], Settings] | None = getattr(settings, "base_for", None)
    try:
        return dataclasses.replace(settings if base_for is None else base_for(values), **values)
    except UserError as error:
        raise UserError(f"{prefix}{error}") from error


def _with_defaults(kind: type[Settings], prefix: str) -> Settings:
    if required := required_settings(kind):
        group, names = prefix.rstrip("."), ", ".join(required)
        raise UserError(f"--set {prefix}...: {group!r} is none and its {names} has no default; set it in the recipe")
    return kind()


def required_settings(kind: type) -> list[str]:
    """Names of the fields without a default."""
    missing = dataclasses.MISSING
    fields = [field for field in dataclasses.fields(kind) if field.init]
    return [field.name for field in fields if field.default is missing and field.default_factory is missing]


def _from_json(kind: type[Settings], values: Mapping[str, Json], where: str, prefix: str) -> Settings:
    annotations = _annotations(kind)
    unknown = [f"{prefix}{name}" for name in values if name not in annotations]
    if unknown:
        raise UserError(f"{where}: unknown settings {', '.join(unknown)}; was it written by another version?")
    if missing := sorted(set(required_settings(kind)) - set(values)):
        raise UserError(f"{where}: {', '.join(prefix + name for name in missing)} is missing and has no default")
    fields: dict[str, object] = {}
    for name, value in values.items():
        group = _group_of(annotations[name])
        if group is not None and isinstance(value, Mapping):
            fields[name] = _from_json(group, value, where, f"{prefix}{name}.")
            continue
        try:
            fields[name] = read_json(annotations[name], value)
        except MismatchError as mismatch:
            expected = mismatch.expected or describe(annotations[name])
            raise UserError(f"{where}: {prefix}{name} is {value!r} but must be {expected}") from None
    return kind(**fields)
