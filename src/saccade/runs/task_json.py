"""Tasks as JSON, and checked fields of records."""

from collections.abc import Mapping
from typing import TypeVar, get_args

from saccade.errors import UserError
from saccade.geometry import Box, Mask, Point
from saccade.types import AnswerKind, ImageRef, Json, Page, SceneObject, Target, Task

Option = TypeVar("Option", bound=str)


class BrokenRecordError(Exception):
    """A JSON object is not what it should be; the caller knows the file and the line."""


class Fields:
    """The fields of a JSON object. Raises BrokenRecordError, naming the field and what is there."""

    def __init__(self, value: Json, name: str = "the line") -> None:
        # A dict by its type, since asking an abstract class takes most of the time of a large file.
        if type(value) is not dict and not isinstance(value, Mapping):
            raise BrokenRecordError(f"{name} must be a JSON object, not {_shortened(value)}")
        self.values = value
        self.name = name

    def wrong(self, key: str, expected: str) -> BrokenRecordError:
        """The error to raise for a field that is missing or not what was expected."""
        if key not in self.values:
            return BrokenRecordError(f"{key!r} is missing in {self.name}")
        return BrokenRecordError(f"{key!r} must be {expected}, not {_shortened(self.values[key])}")

    def text(self, key: str) -> str:
        value = self.values.get(key)
        if isinstance(value, str):
            return value
        raise self.wrong(key, "text")

    def whole(self, key: str) -> int:
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.wrong(key, "a whole number")

    def number(self, key: str) -> float:
        """As it stands there: 80 does not become 80.0, so that what is read is written again with the same bytes."""
        value = self.values.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        raise self.wrong(key, "a number")

    def truth(self, key: str) -> bool:
        value = self.values.get(key)
        if isinstance(value, bool):
            return value
        raise self.wrong(key, "true or false")

    def option(self, key: str, options: tuple[Option, ...]) -> Option:
        """One of these texts."""
        value = self.values.get(key)
        for option in options:
            if value == option:
                return option
        raise self.wrong(key, f"one of {', '.join(options)}")

    def items(self, key: str) -> list[Json]:
        value = self.values.get(key)
        if isinstance(value, list):
            return value
        raise self.wrong(key, "a list")

    def mapping(self, key: str) -> Mapping[str, Json]:
        value = self.values.get(key)
        if type(value) is dict or isinstance(value, Mapping):
            return value
        raise self.wrong(key, "an object")

    def fields(self, key: str) -> "Fields":
        if key not in self.values:
            raise self.wrong(key, "an object")
        return Fields(self.values[key], repr(key))

    def objects(self, key: str) -> "list[Fields]":
        return [Fields(item, f"{key}[{index}]") for index, item in enumerate(self.items(key))]

    def wholes(self, key: str) -> tuple[int, ...]:
        items = self.items(key)
        numbers = tuple(item for item in items if isinstance(item, int) and not isinstance(item, bool))
        if len(numbers) == len(items):
            return numbers
        raise self.wrong(key, "a list of whole numbers")

    def numbers(self, key: str) -> tuple[float, ...]:
        items = self.items(key)
        numbers = [item for item in items if isinstance(item, int | float) and not isinstance(item, bool)]
        if len(numbers) == len(items):
            return tuple(numbers)
        raise self.wrong(key, "a list of numbers")

    def texts(self, key: str) -> tuple[str, ...]:
        items = self.items(key)
        texts = tuple(item for item in items if isinstance(item, str))
        if len(texts) == len(items):
            return texts
        raise self.wrong(key, "a list of texts")

    def has(self, key: str) -> bool:
        """The field is there and not null."""
        return self.values.get(key) is not None


def _shortened(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_ANSWER_KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)


def task_to_json(task: Task) -> dict[str, Json]:
    return {
        "id": task.id,
        "family": task.family,
        "question": task.question,
        "answer": task.answer,
        "answer_kind": task.answer_kind,
        "images": [image_to_json(image) for image in task.images],
        "choices": list(task.choices),
        "tolerance": task.tolerance,
        "targets": [_target_to_json(target) for target in task.targets],
        "frame_times_s": list(task.frame_times_s),
        "event_s": None if task.event_s is None else list(task.event_s),
        "difficulty": task.difficulty,
        "source": task.source,
        # Only where there is something to say: most tasks have none of these.
        **({"objects": [_object_to_json(one) for one in task.objects]} if task.objects else {}),
        **({"wordings": dict(task.wordings)} if task.wordings else {}),
        **({"accepted": list(task.accepted)} if task.accepted else {}),
        **({"buckets": list(task.buckets)} if task.buckets else {}),
        **({"interleaved": True} if task.is_interleaved else {}),
        **scope_to_json(task),
    }


def task_from_json(value: Json) -> Task:
    """Raises BrokenRecordError."""
    fields = Fields(value, "the task")
    event = fields.numbers("event_s") if fields.has("event_s") else None
    return Task(
        id=fields.text("id"),
        family=fields.text("family"),
        question=fields.text("question"),
        answer=fields.text("answer"),
        answer_kind=fields.option("answer_kind", _ANSWER_KINDS),
        images=images_from(fields, "images"),
        choices=fields.texts("choices"),
        tolerance=fields.number("tolerance"),
        targets=tuple(_target_from(target) for target in fields.objects("targets")),
        frame_times_s=fields.numbers("frame_times_s"),
        event_s=None if event is None else (event[0], event[1]),
        difficulty=fields.number("difficulty"),
        source=fields.text("source"),
        objects=tuple(_object_from(one) for one in fields.objects("objects")) if fields.has("objects") else (),
        wordings=_texts_by_name(fields, "wordings"),
        accepted=fields.texts("accepted") if fields.has("accepted") else (),
        buckets=fields.texts("buckets") if fields.has("buckets") else (),
        corpus=fields.text("corpus") if fields.has("corpus") else None,
        document=fields.text("document") if fields.has("document") else None,
        gold_pages=_pages_from(fields, "gold_pages") if fields.has("gold_pages") else None,
        shown_pages=_pages_from(fields, "shown_pages") if fields.has("shown_pages") else (),
        is_interleaved=fields.has("interleaved") and fields.truth("interleaved"),
    )


def scope_to_json(task: Task) -> dict[str, Json]:
    """Where a question is asked: its corpus, document and pages, as far as it names any."""
    names: dict[str, str | None] = {"corpus": task.corpus, "document": task.document}
    pages = {"gold_pages": task.gold_pages, "shown_pages": task.shown_pages or None}
    return {
        **{key: name for key, name in names.items() if name is not None},
        **{key: [str(page) for page in among] for key, among in pages.items() if among is not None},
    }


def _pages_from(fields: Fields, key: str) -> tuple[Page, ...]:
    try:
        return tuple(Page.read(name) for name in fields.texts(key))
    except UserError as error:
        raise fields.wrong(key, "a list of pages, each DOCUMENT#NUMBER") from error


def image_to_json(image: ImageRef) -> Json:
    return {"hash": image.hash, "width": image.width, "height": image.height}


def images_from(fields: Fields, key: str) -> tuple[ImageRef, ...]:
    return tuple(
        ImageRef(hash=image.text("hash"), width=image.whole("width"), height=image.whole("height"))
        for image in fields.objects(key)
    )


def _target_to_json(target: Target) -> Json:
    return {
        "label": target.label,
        "box": list(target.box.as_tuple()),
        "point": [target.point.x, target.point.y],
        "mask": _mask_to_json(target.mask),
        "image_index": target.image_index,
    }


def _target_from(fields: Fields) -> Target:
    x1, y1, x2, y2 = exactly(4, fields, "box")
    x, y = exactly(2, fields, "point")
    return Target(
        label=fields.text("label"),
        box=Box(x1, y1, x2, y2),
        point=Point(x, y),
        mask=_mask_from(fields),
        image_index=fields.whole("image_index"),
    )


def _object_to_json(one: SceneObject) -> Json:
    return {
        "name": one.name,
        "box": list(one.box.as_tuple()),
        "attributes": dict(one.attributes),
        "image_index": one.image_index,
        **({"mask": _mask_to_json(one.mask)} if one.mask else {}),
    }


def _object_from(fields: Fields) -> SceneObject:
    return SceneObject(
        name=fields.text("name"),
        box=Box(*exactly(4, fields, "box")),
        attributes=_texts_by_name(fields, "attributes"),
        image_index=fields.whole("image_index"),
        mask=_mask_from(fields),
    )


def _mask_to_json(mask: Mask | None) -> Json:
    return None if mask is None else {"width": mask.width, "height": mask.height, "counts": list(mask.counts)}


def _mask_from(fields: Fields) -> Mask | None:
    """None where the key ``mask`` is missing."""
    if not fields.has("mask"):
        return None
    mask = fields.fields("mask")
    return Mask(width=mask.whole("width"), height=mask.whole("height"), counts=mask.wholes("counts"))


def _texts_by_name(fields: Fields, key: str) -> dict[str, str]:
    """Nothing where the key is missing."""
    if not fields.has(key):
        return {}
    inner = fields.fields(key)
    return {name: inner.text(name) for name in inner.values}


def exactly(count: int, fields: Fields, key: str) -> tuple[float, ...]:
    numbers = fields.numbers(key)
    if len(numbers) != count:
        raise fields.wrong(key, f"{count} numbers")
    return numbers
