"""Names of fields in files of messages, which everybody calls something else."""

from collections.abc import Mapping
from dataclasses import dataclass

from saccade.errors import UserError


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldMap:
    """Names of the fields of a file of messages."""

    messages: str = "messages"
    prompt: str = "prompt"
    completion: str = "completion"
    answer: str = "answer"
    reward: str = "reward"
    right: str = "is_correct"
    id: str = "id"
    images: str = "images"
    step: str = "step"

    @staticmethod
    def read(pairs: Mapping[str, str]) -> "FieldMap":
        """UserError for a name that is none of these."""
        known = FieldMap.__dataclass_fields__
        if wrong := [name for name in pairs if name not in known]:
            raise UserError(f"{wrong[0]!r} is no field that can be mapped; there are {', '.join(known)}")
        return FieldMap(**pairs)
