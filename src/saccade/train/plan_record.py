"""What the stages of a plan really run, as a run records it: algorithms, rewards and streams as they were passed."""

import dataclasses
import functools
import logging
import re
from collections.abc import Mapping

from saccade.train.plan import Evaluate, Plan, RLStage, SFTStage, Stage
from saccade.types import Json

logger = logging.getLogger(__name__)

_MAX_TEXT = 200
_MAX_DEPTH = 3
_SECRET = re.compile(r"(?:^|_)(?:key|token|secret|password)$", re.IGNORECASE)


def described(plan: Plan) -> dict[str, Json]:
    """Each stage by name: its kind, and by which values it is played, rewarded and learned from."""
    return {stage.name: _stage(stage) for stage in plan.stages}


def tell_of_own_algorithms(plan: Plan) -> None:
    """Log each stage whose algorithm is not the one that its settings name: those have no effect then."""
    for stage in plan.stages:
        if not isinstance(stage, RLStage) or stage.algorithm is None:
            continue
        if not stage.algorithm.name.startswith(stage.settings.algorithm.name):
            logger.warning(
                "stage %s learns by %r, as the recipe passed it; algorithm.name=%s in its settings has no effect",
                stage.name,
                stage.algorithm.name,
                stage.settings.algorithm.name,
            )


def value_record(value: object, depth: int = _MAX_DEPTH) -> Json:
    """A value that a recipe passed, as far as plain words can say it.

    Numbers and short texts are themselves, a function is its qualified name, a dataclass its class and such fields;
    of anything else the class. Fields whose names speak of secrets are left out.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= _MAX_TEXT else f"{value[:_MAX_TEXT]}..."
    if isinstance(value, functools.partial):
        options: dict[str, Json] = {name: value_record(one, depth - 1) for name, one in value.keywords.items()}
        return {"function": value_record(value.func), **options} if options else value_record(value.func)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value, depth)
    if isinstance(value, tuple | list) and depth > 0:
        return [value_record(one, depth - 1) for one in value]
    name = getattr(value, "__qualname__", None)
    return f"{getattr(value, '__module__', '?')}.{name}" if isinstance(name, str) else _class_name(value)


def _stage(stage: Stage) -> dict[str, Json]:
    match stage:
        case SFTStage():
            return {"kind": "sft"}
        case Evaluate():
            return {"kind": "evaluation", "reward": value_record(stage.reward), "samples": stage.samples}
        case RLStage():
            return {
                "kind": "rl",
                "algorithm": value_record(stage.applied_algorithm),
                "reward": value_record(stage.reward),
                "streams": {
                    stream.name: {
                        "protocol": stream.episodes.protocol.name,
                        "tools": [tool.spec.name for tool in stream.episodes.tools],
                        "max_turns": stream.episodes.max_turns,
                    }
                    for stream in stage.streams
                },
            }


def _fields(value: object, depth: int) -> Json:
    assert dataclasses.is_dataclass(value)
    if depth <= 0:
        return _class_name(value)
    said: Mapping[str, Json] = {
        field.name: value_record(getattr(value, field.name), depth - 1)
        for field in dataclasses.fields(value)
        if not _SECRET.search(field.name)
    }
    return {"class": _class_name(value), **said}


def _class_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
