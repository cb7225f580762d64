"""Forms of dataclasses in JSON, and the msgspec structures that mirror them."""

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from types import GenericAlias, UnionType
from typing import TYPE_CHECKING, Annotated, Any

from saccade.codec.bounds import Bounds

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """How a dataclass is written, where its fields do not say it: by default an object with a key for each field.

    A codec is given the forms of its classes, or a class has its own as ``FORM``.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys that differ from the name of their field."""
    last: tuple[str, ...] = ()
    """Fields that are written behind the others, in this order."""
    sparse: tuple[str, ...] = ()
    """Fields that are written where they differ from their default alone, behind all that is always written."""
    flat: tuple[str, ...] = ()
    """Fields whose own fields are written in their place."""
    apart: tuple[str, ...] = ()
    """Fields that are not written."""
    also: tuple[str, ...] = ()
    """Properties that are written behind the fields; nothing reads them."""
    is_closed: bool = False
    """No key but its own may be there, and none may be missing but sparse ones."""
    tag: tuple[str, str | int] | None = None
    """First key and its value, by which the classes of a union are told apart, or versions of one."""
    is_list: bool = False
    """Written as the list of its fields, all of them numbers."""
    read_text: Callable[[str], object] | None = None
    """Written as ``str`` gives it and read by this function."""
    pattern: tuple[str, str] = ("", "text")
    """Which texts there are, and what they are called."""
    check: Callable[[Any], None] | None = None
    """Raises ValueError for an object that cannot be."""


PLAIN = Form()


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A field as it is written."""

    name: str
    key: str
    annotation: Any
    is_sparse: bool
    is_flat: bool
    default: Callable[[], object]
    """Gives the default of a sparse field."""


class Mirrors:
    """The structures with the keys of the JSON, one for each class; made on first use."""

    def __init__(self, forms: Mapping[type, Form], *, is_lenient: bool) -> None:
        self._forms = forms
        self._is_lenient = is_lenient
        self._made: dict[type, Any] = {}

    def form(self, kind: type) -> Form:
        own: Form = getattr(kind, "FORM", PLAIN)
        return self._forms.get(kind, own)

    def members(self, kind: type) -> list[Member]:
        """The fields of a class in the order in which they are written."""
        form, hints = self.form(kind), typing.get_type_hints(kind, include_extras=True)
        fields = {one.name: one for one in dataclasses.fields(kind) if one.name not in form.apart}
        sparse = tuple(filter(lambda name: _has_default(fields[name]), fields)) if self._is_lenient else form.sparse
        first = [name for name in fields if name not in form.last + sparse]
        return [
            Member(
                name=name,
                key=form.keys.get(name, name),
                annotation=hints[name],
                is_sparse=name in sparse,
                is_flat=name in form.flat,
                default=_default_of(fields[name]),
            )
            for name in (*first, *form.last, *sparse)
        ]

    def mirror(self, kind: type) -> Any:
        """The structure of a class."""
        if kind not in self._made:
            # Loaded with the first record: the viewer starts without.
            import msgspec

            form = self.form(kind)
            tag_field, tag = form.tag or (None, None)
            members = list(self._mirror_fields(kind))
            self._made[kind] = msgspec.defstruct(
                kind.__name__,
                [tuple(member) for _, *member in members],
                kw_only=True,
                rename={name: key for key, name, *_ in members},
                tag_field=tag_field,
                tag=tag,
                forbid_unknown_fields=form.is_closed,
            )
        return self._made[kind]

    def _mirror_fields(self, kind: type) -> Iterator[tuple[Any, ...]]:
        """Key, name and annotation of each field, and None where it may be missing: if it is sparse, or may be None."""
        is_closed = self.form(kind).is_closed
        for one in self.members(kind):
            if one.is_flat:
                yield from self._mirror_fields(one.annotation)
            elif one.is_sparse or (type(None) in typing.get_args(one.annotation) and not is_closed):
                yield one.key, one.name, self.wire(one.annotation) | None, None
            else:
                yield one.key, one.name, self.wire(one.annotation)

    def wire(self, annotation: Any) -> Any:
        """What msgspec is to find for a value of this annotation."""
        arguments = typing.get_args(annotation)
        if typing.get_origin(annotation) is Annotated:
            kind, bounds = arguments[0], [one for one in arguments[1:] if isinstance(one, Bounds)]
            # A number within bounds becomes a float: nothing is written again from settings and requests.
            return Annotated[kind if kind is float else self.wire(kind), *(one.meta(kind) for one in bounds)]
        if annotation is float:
            return int | float
        if is_json(annotation):
            return Any
        if is_tuple(annotation):
            return GenericAlias(tuple, tuple(one if one is ... else self.wire(one) for one in arguments))
        if is_mapping(annotation):
            return GenericAlias(dict, (str, self.wire(arguments[1])))
        if is_union(annotation):
            return reduce(or_, map(self.wire, arguments))
        if (kind := class_of(annotation)) is None:
            return annotation
        form = self.form(kind)
        if form.is_list:
            return GenericAlias(tuple, (int | float,) * len(dataclasses.fields(kind)))
        if form.read_text is not None:
            from msgspec import Meta

            return typing.Annotated[str, Meta(pattern=form.pattern[0], description=form.pattern[1])]
        return kind if self.is_itself(kind) else self.mirror(kind)

    def is_itself(self, kind: type) -> bool:
        """Whether msgspec makes objects of the class without a mirror: no form, no default, nothing to build inside."""
        hints = typing.get_type_hints(kind, include_extras=True)
        return self.form(kind) is PLAIN and not any(
            _has_default(one) or self.wire(hints[one.name]) != hints[one.name] for one in dataclasses.fields(kind)
        )


def without_bounds(annotation: Any) -> Any:
    """The annotation itself of one that is ``Annotated``."""
    return annotation.__origin__ if typing.get_origin(annotation) is Annotated else annotation


def is_json(annotation: Any) -> bool:
    """``Json``: the union that has texts and truths."""
    return is_union(annotation) and {str, bool} <= set(typing.get_args(annotation))


def is_tuple(annotation: Any) -> bool:
    return typing.get_origin(annotation) is tuple


def is_listing(annotation: Any) -> bool:
    """A tuple of any length."""
    return is_tuple(annotation) and annotation.__args__[-1] is ...


def is_mapping(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (UnionType, typing.Union)


def is_choice(annotation: Any) -> bool:
    """One kind or None, or one of several classes."""
    kinds = [one for one in typing.get_args(annotation) if one is not type(None)]
    return is_union(annotation) and (len(kinds) == 1 or all(map(dataclasses.is_dataclass, kinds)))


def class_of(annotation: Any) -> "type[DataclassInstance] | None":
    """The dataclass that an annotation is; None where it is anything else."""
    return annotation if isinstance(annotation, type) and dataclasses.is_dataclass(annotation) else None


def _has_default(one: "dataclasses.Field[Any]") -> bool:
    return one.default is not dataclasses.MISSING or one.default_factory is not dataclasses.MISSING


def _default_of(one: "dataclasses.Field[Any]") -> Callable[[], object]:
    if one.default_factory is not dataclasses.MISSING:
        return one.default_factory
    return lambda: one.default
