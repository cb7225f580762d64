"""Functions that build objects of mirrors and texts of objects: written out for each class, compiled once.

``dataclasses`` makes ``__init__`` in this way. A loop that asks each field for its kind takes several times as long.
"""

import dataclasses
import threading
import typing
from collections.abc import Callable, Collection
from types import MemberDescriptorType
from typing import Any

from saccade.codec.forms import Member, Mirrors, class_of, is_choice, is_json, is_listing, is_mapping, without_bounds
from saccade.codec.text import json_text, number_list, number_text, truth_text, whole_list

_WRITERS = {one.__name__: one for one in (json_text, number_text, truth_text, number_list, whole_list)}
_SCALARS = {int: "number_text", float: "number_text", bool: "truth_text"}
_WHOLE = {f"{name}(each)" for name in ("json_text", *_SCALARS.values())}
"""Texts of values that ``json_text`` writes at once, with the object that holds them."""
_LISTS = {int: "whole_list", float: "number_list"}
_FIXED = (str, int, float, tuple, type(None))


MAKING = threading.RLock()
"""Held while mirrors and functions are made: two threads would make two mirrors of one class."""


def is_filled(kind: type, given: Collection[str]) -> bool:
    """Whether an object is made by setting its slots, in a third of the time that a frozen class's ``__init__`` takes.

    Where that does the same and no more: all fields are given, and are slots, and nothing is done after them.
    """
    fields = dataclasses.fields(kind)
    is_plain = not hasattr(kind, "__post_init__") and all(one.name in given and one.init for one in fields)
    return is_plain and all(type(getattr(kind, one.name, None)) is MemberDescriptorType for one in fields)


class Functions:
    """``load`` and ``text`` of each class; made on first use."""

    def __init__(self, mirrors: Mirrors) -> None:
        self._mirrors = mirrors
        self._names: dict[str, Any] = {**_WRITERS, "new": object.__new__}

    def load(self, kind: type) -> Callable[[Any], Any]:
        """Gives the object of a mirror; ValueError for one that cannot be."""
        return self._function("load", kind, self._load_lines)

    def text(self, kind: type) -> Callable[[Any], str]:
        """Gives the text of an object."""
        return self._function("text", kind, self._text_lines)

    def _function(self, task: str, kind: type, lines: Callable[[type], list[str]]) -> Callable[[Any], Any]:
        name = f"{task}_{kind.__name__}"
        # The functions go by the names of classes, so two classes of one name would be taken for each other.
        assert self._names.setdefault(kind.__name__, kind) is kind, f"two classes are called {kind.__name__}"
        if name not in self._names:
            with MAKING:
                source = "\n    ".join([f"def {name}(one):", *lines(kind)])
                exec(compile(source, f"<codec {name}>", "exec"), self._names)
        made: Callable[[Any], Any] = self._names[name]
        return made

    def _load_lines(self, kind: type) -> list[str]:
        given = {member.name: self._field_expression(kind, member) for member in self._mirrors.members(kind)}
        if is_filled(kind, given):
            lines = [f"made = new({kind.__name__})"]
            for name, value in given.items():
                self._names[setter := f"set_{kind.__name__}_{name}"] = getattr(kind, name).__set__
                lines.append(f"{setter}(made, {value})")
        else:
            lines = [f"made = {kind.__name__}({', '.join(f'{name}={value}' for name, value in given.items())})"]
        if (check := self._mirrors.form(kind).check) is not None:
            self._names[f"check_{kind.__name__}"] = check
            lines.append(f"check_{kind.__name__}(made)")
        return [*lines, "return made"]

    def _field_expression(self, kind: type, member: Member) -> str:
        """The expression for the value of a field."""
        value = self._load_expression(member.annotation, "one" if member.is_flat else f"one.{member.name}")
        return f"{self._default(kind, member)} if one.{member.name} is None else {value}" if member.is_sparse else value

    def _text_lines(self, kind: type) -> list[str]:
        tag = self._mirrors.form(kind).tag
        pieces: list[str] = []
        sparse: list[str] = []
        before = f"{json_text(dict([tag]))[:-1]}, " if tag else "{"
        for member in self._mirrors.members(kind):
            value = self._text_expression(member.annotation, f"one.{member.name}")
            if member.is_flat:
                pieces.append(f"{before!r}, {value}[1:-1]")
                before = ", "
            elif member.is_sparse:
                key = f', "{member.key}": '
                sparse.append(f"if {self._differs(kind, member)}: pieces += {key!r}, {value}")
            else:
                key = f'{before}"{member.key}": '
                pieces.append(f"{key!r}, {value}")
                before = ", "
        for name in self._mirrors.form(kind).also:
            annotation = typing.get_type_hints(getattr(kind, name).fget)["return"]
            pieces.append(f"{f'{before}{json_text(name)}: '!r}, {self._text_expression(annotation, f'one.{name}')}")
        return [f"pieces = [{', '.join(pieces)}]", *sparse, "return ''.join(pieces) + '}'"]

    def _differs(self, kind: type, member: Member) -> str:
        return f"one.{member.name} != {self._default(kind, member)}"

    def _default(self, kind: type, member: Member) -> str:
        """The expression for the default of a field: a value that cannot change is made once."""
        name, value = f"default_{kind.__name__}_{member.name}", member.default()
        is_fixed = isinstance(value, _FIXED)
        self._names[name] = value if is_fixed else member.default
        return name if is_fixed else f"{name}()"

    def _load_expression(self, annotation: Any, value: str) -> str:
        """The expression for the object of a mirror's value."""
        annotation = without_bounds(annotation)
        if is_json(annotation):
            return value
        if is_listing(annotation):
            inner = self._load_expression(annotation.__args__[0], "each")
            return value if inner == "each" else f"tuple([{inner} for each in {value}])"
        if is_mapping(annotation):
            inner = self._load_expression(annotation.__args__[1], "each")
            return value if inner == "each" else f"{{key: {inner} for key, each in {value}.items()}}"
        if is_choice(annotation):
            return self._union_expression(
                annotation, value, "None", self._load_expression, lambda of: (self._mirrors.wire(of), self.load(of))
            )
        if (kind := class_of(annotation)) is None:
            return value
        form, name = self._mirrors.form(kind), kind.__name__
        self._names[name] = kind
        if form.is_list:
            return f"{name}(*{value})"
        if form.read_text is not None:
            self._names[f"read_{name}"] = form.read_text
            return f"read_{name}({value})"
        if self._mirrors.is_itself(kind):
            return value
        self.load(kind)
        return f"load_{name}({value})"

    def _text_expression(self, annotation: Any, value: str) -> str:
        """The expression for the text of an object's value."""
        annotation = without_bounds(annotation)
        if annotation in _SCALARS:
            return f"{_SCALARS[annotation]}({value})"
        if is_listing(annotation):
            inner = annotation.__args__[0]
            if inner in _LISTS:
                return f"{_LISTS[inner]}({value})"
            listed = f"'[' + ', '.join([{self._text_expression(inner, 'each')} for each in {value}]) + ']'"
            return f"({listed} if {value} else '[]')"
        if is_mapping(annotation):
            inner = self._text_expression(annotation.__args__[1], "each")
            if inner in _WHOLE:
                return f"json_text(dict({value}))"
            key = "key" if annotation.__args__[0] is not int else "str(key)"
            pair = f"json_text({key}) + ': ' + {inner}"
            return f"'{{' + ', '.join([{pair} for key, each in {value}.items()]) + '}}'"
        if is_choice(annotation):
            return self._union_expression(
                annotation, value, "'null'", self._text_expression, lambda of: (of, self.text(of))
            )
        if (kind := class_of(annotation)) is None:
            return f"json_text({value})"
        form = self._mirrors.form(kind)
        if form.is_list:
            return f"number_list(({', '.join(f'{value}.{one.name}' for one in dataclasses.fields(kind))}))"
        if form.read_text is not None:
            return f"json_text(str({value}))"
        self.text(kind)
        return f"text_{kind.__name__}({value})"

    def _union_expression(
        self,
        annotation: Any,
        value: str,
        none: str,
        inside: Callable[[Any, str], str],
        of_class: Callable[[type], tuple[type, Callable[[Any], Any]]],
    ) -> str:
        """The expression for a value of a union: None or one kind, or an object of one of several classes."""
        kinds = [one for one in typing.get_args(annotation) if one is not type(None)]
        if len(kinds) > 1:
            table = f"table_{len(self._names)}"
            self._names[table] = dict(map(of_class, kinds))
            return f"{table}[type({value})]({value})"
        chosen = inside(kinds[0], value)
        return chosen if chosen == value else f"({none} if {value} is None else {chosen})"
