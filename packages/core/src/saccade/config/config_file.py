"""Settings kept as a YAML file (``--config FILE``), and the ``config.yaml`` that a run writes of itself.

The file's keys are those of ``--set``, nested or dotted; its block ``run`` holds what else the command line says::

    run:
      recipe: questions
      data: my.jsonl
    rl:
      steps: 50
      optimizer.learning_rate: 1.0e-5

A value's text is read by the type of its setting, as ``--set`` reads it, so ``no`` is false for a switch and a word
for a name. Every message names the file and the line.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import yaml

from saccade.atomic import disk_errors
from saccade.config.engine import split_engine
from saccade.config.fleet import split_overrides
from saccade.config.settings import Override, to_json
from saccade.config.tracking import split_tracking
from saccade.config.yaml_text import yaml_root
from saccade.errors import UserError
from saccade.plain_files import plain_bytes
from saccade.types import Json

_RUN = "run"
_NULL = "tag:yaml.org,2002:null"
_PLAIN = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))
_MAX_BYTES = 1 << 20
_MAX_BITS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOption:
    """A value of the block ``run``, and its place as ``FILE:LINE``."""

    place: str
    value: str | tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigFile:
    """A configuration file as read: options of the command line by name, and changes of settings."""

    run: Mapping[str, RunOption] = field(default_factory=lambda: MappingProxyType({}))
    overrides: tuple[str, ...] = ()
    """As ``--set`` gives them; those of the command line come after them and win."""


def read_config(path: Path) -> ConfigFile:
    """The content of a YAML file of settings. UserError, with file and line, for what is not one."""
    root = _root_node(path)
    if root is None:
        return ConfigFile()
    run: dict[str, RunOption] = {}
    overrides: list[str] = []
    for key, place, node in _pairs(root, path):
        if key == _RUN:
            run = _run_block(node, path, place)
        else:
            overrides += _overrides_of(key, node, path, place)
    return ConfigFile(run=run, overrides=tuple(overrides))


def config_text(run: Mapping[str, Json], settings: Mapping[str, Json], overrides: Sequence[str]) -> str:
    """The text of a file that starts a run again.

    ``run`` are the options of its command, ``settings`` all of its recipe; of the fleet and the engine, which
    ``overrides`` choose, what differs from the default.
    """
    fleet, others = split_overrides(overrides)
    tracking, others = split_tracking(others)
    engine, _ = split_engine(others)
    groups: dict[str, Json] = {}
    for name, values, defaults in (
        ("fleet", to_json(fleet), to_json(type(fleet)())),
        ("tracking", to_json(tracking), to_json(type(tracking)())),
        ("engine", to_json(engine), to_json(type(engine)())),
    ):
        differing = {key: value for key, value in values.items() if value != defaults[key]}
        if differing:
            groups[name] = differing
    written = {_RUN: dict(run), **groups, **_without_empty(settings)}
    return yaml.safe_dump(written, sort_keys=False, allow_unicode=True, width=110)


def _without_empty(values: Mapping[str, Json]) -> dict[str, Json]:
    """The settings without groups in which there is nothing to set."""
    kept: dict[str, Json] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            inner = _without_empty(value)
            if inner:
                kept[name] = inner
        else:
            kept[name] = value
    return kept


def _root_node(path: Path) -> yaml.MappingNode | None:
    with disk_errors(path):
        if not path.is_file():
            there = "a folder; name a YAML file in it" if path.is_dir() else "there is no such file"
            raise UserError(f"--config {path}: {there}")
        if path.stat().st_size > _MAX_BYTES:
            raise UserError(
                f"--config {path}: the file is larger than {_MAX_BYTES} bytes; settings take a few thousand"
            )
        content = plain_bytes(path)
    try:
        root = yaml_root(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UserError(f"--config {path}: not UTF-8 text: {error}") from None
    except yaml.YAMLError as error:
        said = " ".join(str(error).replace("<unicode string>", path.name).split())
        raise UserError(f"--config {path}: not YAML (`rl:` with `steps: 50` below is): {said}") from None
    if root is None:
        return None
    if not isinstance(root, yaml.MappingNode):
        raise UserError(f"--config {path}:1: the file must hold keys with values, such as `rl:` with `steps: 50` below")
    return root


def _pairs(node: yaml.MappingNode, path: Path) -> Iterator[tuple[str, str, yaml.Node]]:
    """Keys, places (``FILE:LINE``) and values of a mapping. UserError for a key that stands twice or is no word."""
    seen: set[str] = set()
    for key_node, value in node.value:
        place = f"{path}:{key_node.start_mark.line + 1}"
        if not isinstance(key_node, yaml.ScalarNode) or not key_node.value:
            raise UserError(f"{place}: a key must be the name of a setting")
        key = key_node.value
        if key in seen:
            raise UserError(f"{place}: {key} stands twice; keep one")
        seen.add(key)
        yield key, place, value


def _overrides_of(key: str, node: yaml.Node, path: Path, place: str) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        if not node.value:
            raise UserError(f"{place}: {key} holds no settings; set one of its own, or leave the line out")
        for name, inner_place, value in _pairs(node, path):
            yield from _overrides_of(f"{key}.{name}", value, path, inner_place)
        return
    yield Override.at(place, key, _text_of(node, place))


def _text_of(node: yaml.Node, place: str) -> str:
    """The text that ``--set`` would be given for this value."""
    if isinstance(node, yaml.ScalarNode):
        return "null" if node.tag == _NULL else str(node.value)
    return json.dumps(_items(node, place))


def _items(node: yaml.Node, place: str) -> Json:
    if isinstance(node, yaml.SequenceNode):
        return [_items(item, place) for item in node.value]
    if isinstance(node, yaml.ScalarNode):
        if node.tag not in _PLAIN:
            return str(node.value)
        try:
            value = yaml.SafeLoader("").construct_object(node)
        except (ValueError, KeyError) as error:
            raise UserError(f"{place}: {str(node.value)[:60]!r} is no such value: {error}") from None
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            raise UserError(f"{place}: a number of {value.bit_length()} bits is no setting")
        # JSON has no NaN, and a setting reads it by its name as it reads any text.
        return value if value is None or value - value == 0 else str(value)
    raise UserError(f"{place}: a list must hold plain values")


def _run_block(node: yaml.Node, path: Path, place: str) -> dict[str, RunOption]:
    if not isinstance(node, yaml.MappingNode):
        raise UserError(f"{place}: run must hold options of the command line, such as `seed: 1`")
    found: dict[str, RunOption] = {}
    for key, inner_place, value in _pairs(node, path):
        if isinstance(value, yaml.ScalarNode):
            if value.tag != _NULL:
                found[key] = RunOption(place=inner_place, value=value.value)
        elif isinstance(value, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in value.value):
            found[key] = RunOption(place=inner_place, value=tuple(str(item.value) for item in value.value))
        else:
            raise UserError(f"{inner_place}: run.{key} must be a plain value or a list of them")
    return found
