"""Values of settings as text and JSON, and names near to one that is unknown."""

import dataclasses
import difflib
import json
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from saccade.types import Json

_NONE_WORDS = ("none", "null")
_TRUE_WORDS = ("true", "yes", "on", "1")
_FALSE_WORDS = ("false", "no", "off", "0")


class MismatchError(Exception):
    """The value is not what the annotation says; ``expected`` replaces the annotation's description."""

    def __init__(self, expected: str = "") -> None:
        super().__init__(expected)
        self.expected = expected


def read_text(annotation: object, text: str) -> object:
    """The value that this text means for a field of this annotation. Raises MismatchError."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        return _first_that_reads(arguments, lambda member: read_text(member, text))
    if origin is Literal:
        return _option_called(arguments, text)
    if origin is tuple:
        return _tuple_from_text(annotation, text)
    if annotation is type(None):
        return None if text.lower() in _NONE_WORDS else _raise()
    if annotation is bool:
        return _bool_from(text)
    if annotation is int:
        return _number_from(int, text)
    if annotation is float:
        return _finite_or_infinite(_number_from(float, text))
    if annotation is Path:
        return Path(text).expanduser() if text else _raise()
    if annotation is str:
        return text
    return _refuse_annotation(annotation)


def read_json(annotation: object, value: Json) -> object:
    """The value that ``write_json`` wrote for a field of this annotation. Raises MismatchError."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        return _first_that_reads(arguments, lambda member: read_json(member, value))
    if origin is Literal:
        return value if any(value == option and type(value) is type(option) for option in arguments) else _raise()
    if origin is tuple:
        items = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else _raise()
        members = _members(arguments, len(items))
        return tuple(read_json(member, item) for member, item in zip(members, items, strict=True))
    if annotation is type(None):
        return value if value is None else _raise()
    if annotation is bool:
        return value if isinstance(value, bool) else _raise()
    if annotation is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else _raise()
    if annotation is float:
        if isinstance(value, str):
            return _finite_or_infinite(_number_from(float, value))
        if not isinstance(value, int | float) or isinstance(value, bool):
            return _raise()
        return _finite_or_infinite(_number_from(float, value))
    if annotation is Path:
        return Path(value) if isinstance(value, str) else _raise()
    if annotation is str:
        return value if isinstance(value, str) else _raise()
    return _refuse_annotation(annotation)


def write_json(value: object) -> Json:
    """A setting's value as strict JSON: a path is its text, a tuple a list, an infinite number ``"inf"``."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [write_json(item) for item in value]
    raise TypeError(f"a setting of type {type(value).__name__} cannot be written as JSON: {value!r}")


def describe(annotation: object) -> str:
    """Words for the values of this annotation: ``a whole number or none``."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        kinds = [describe(member) for member in arguments if member is not type(None)]
        return " or ".join([*kinds, *([none_word(arguments)] if type(None) in arguments else [])])
    if origin is Literal:
        return f"one of {', '.join(str(option) for option in arguments)}"
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return f"a comma-separated list, each {describe(arguments[0])}"
    if origin is tuple:
        return f"{len(arguments)} comma-separated values ({', '.join(map(describe, arguments))})"
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return f"a group of settings ({', '.join(field.name for field in dataclasses.fields(annotation))})"
    words: dict[object, str] = {
        type(None): "none",
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "text",
        Path: "a path",
    }
    return words[annotation]


def _first_that_reads(members: Sequence[object], read: Callable[[object], object]) -> object:
    for member in sorted(members, key=_turn_of):
        if isinstance(member, type) and dataclasses.is_dataclass(member):
            continue
        try:
            return read(member)
        except MismatchError:
            continue
    return _raise()


def _turn_of(member: object) -> int:
    """Options first, which may be called "none", then None, and text last, whatever the order in the annotation."""
    if typing.get_origin(member) is Literal:
        return 0
    return 1 if member is type(None) else 3 if member is str else 2


def none_word(members: Sequence[object]) -> str:
    """How None is written beside these members of a union, one of whose options may be called "none"."""
    options = {option for one in members if typing.get_origin(one) is Literal for option in typing.get_args(one)}
    return next(word for word in _NONE_WORDS if word not in options)


def _option_called(options: Sequence[object], text: str) -> object:
    for option in options:
        if str(option) == text:
            return option
    return _raise()


def _tuple_from_text(annotation: object, text: str) -> tuple[object, ...]:
    if text.startswith("["):
        try:
            items = json.loads(text)
        except (ValueError, RecursionError):
            raise MismatchError("a JSON list such as [1, 2], or values with commas between") from None
        value = read_json(annotation, items)
        assert isinstance(value, tuple)
        return value
    texts = [part.strip() for part in text.split(",")] if text else []
    members = _members(typing.get_args(annotation), len(texts))
    return tuple(read_text(member, part) for member, part in zip(members, texts, strict=True))


def _members(arguments: Sequence[object], count: int) -> Sequence[object]:
    """The annotation of each of ``count`` items of a tuple."""
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return [arguments[0]] * count
    return arguments if len(arguments) == count else _raise()


def _bool_from(text: str) -> bool:
    if text.lower() in _TRUE_WORDS:
        return True
    return False if text.lower() in _FALSE_WORDS else _raise()


Number = typing.TypeVar("Number", int, float)


def _number_from(kind: type[Number], told: str | float) -> Number:
    try:
        return kind(told)
    except (ValueError, OverflowError):
        raise MismatchError from None


def _finite_or_infinite(number: float) -> float:
    return _raise() if math.isnan(number) else number


def _raise() -> typing.NoReturn:
    raise MismatchError


def _refuse_annotation(annotation: object) -> typing.NoReturn:
    known = "int, float, bool, str, Path, Literal, tuple, dataclass"
    raise TypeError(f"a setting cannot be {annotation!r}; use {known}")


SHOWN = 4

ELSEWHERE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "batch_size": ("tasks_per_step",),
        "rollout_batch_size": ("tasks_per_step",),
        "train_batch_size": ("tasks_per_step",),
        "n": ("group_size",),
        "num_generations": ("group_size",),
        "rollout_n": ("group_size",),
        "num_train_epochs": ("steps",),
        "epochs": ("steps",),
        "max_steps": ("steps",),
        "num_iterations": ("inner_epochs",),
        "ppo_epochs": ("inner_epochs",),
        "beta": ("kl_weight",),
        "kl_coef": ("kl_weight",),
        "kl_loss_coef": ("kl_weight",),
        "epsilon": ("clip_low", "clip_high"),
        "epsilon_high": ("clip_high",),
        "clip_ratio": ("clip_low", "clip_high"),
        "max_completion_length": ("max_turn_tokens", "max_tokens"),
        "max_response_length": ("max_turn_tokens", "max_tokens"),
        "max_new_tokens": ("max_turn_tokens",),
        "max_prompt_length": ("max_tokens",),
        "gradient_accumulation_steps": ("micro_batch_tokens",),
        "micro_batch_size": ("micro_batch_tokens",),
        "gradient_checkpointing": ("activation_checkpointing",),
        "max_grad_norm": ("max_gradient_norm",),
        "grad_clip": ("max_gradient_norm",),
        "save_steps": ("checkpoint_every",),
        "save_freq": ("checkpoint_every",),
        "save_total_limit": ("checkpoints_kept",),
        "max_num_seqs": ("max_rows",),
        "max_num_batched_tokens": ("max_chunk_tokens",),
        "eval_steps": ("evaluate_every",),
        "test_freq": ("evaluate_every",),
        "torch_dtype": ("dtype",),
        "lora_rank": ("rank",),
        "lora_r": ("rank",),
        "modules_to_save": ("trained",),
        "lora_modules_to_save": ("trained",),
        "trainable_parameters_regex": ("trained",),
        "freeze_vision_tower": ("frozen_vision",),
    }
)
"""Names of settings in TRL, verl and transformers, and the last word of ours."""


def near_keys(key: str, known: Sequence[str]) -> list[str]:
    """At most ``SHOWN`` known dotted keys that may be meant, the surest kind of likeness first.

    In this order: another library's word for it beside the same last word elsewhere, its abbreviation (``lr``), a last
    word that holds it, a likeness of letters.
    """
    word = key.rpartition(".")[2].casefold()
    group = key.rpartition(".")[0].casefold()
    meant = ELSEWHERE.get(word, ())
    likenesses = (
        [name for name in known if _last(name) in meant] + [name for name in known if _last(name) == word],
        [name for name in known if _is_abbreviation(word, _last(name))],
        [name for name in known if len(word) >= 3 and word in _last(name)],
        difflib.get_close_matches(key, known, n=1, cutoff=0.6)
        or [name for name in known if _last(name) in difflib.get_close_matches(word, map(_last, known), n=1)],
    )
    found = next((names for names in likenesses if names), [])
    inside = [name for name in found if group and name.casefold().startswith(f"{group}.")]
    return (inside or found)[:SHOWN]


def _last(name: str) -> str:
    return name.rpartition(".")[2].casefold()


def _is_abbreviation(word: str, name: str) -> bool:
    """The first letters of the name's words (``lr``, ``wd``), or shortened words (``learn_rate``, ``max_tok``)."""
    parts = name.split("_")
    if len(word) > 1 and word == "".join(part[0] for part in parts if part):
        return True
    shortened = word.split("_")
    return len(shortened) == len(parts) and all(len(a) > 1 and b.startswith(a) for a, b in zip(shortened, parts))
