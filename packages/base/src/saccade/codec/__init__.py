"""Codec: dataclasses as JSON and back. Each form on disk or on a wire is said once, by a dataclass and its ``Form``.

Start at ``Codec`` in ``codecs``. Nothing is coerced: true is no number, "3" no 3, and 80 does not become 80.0, so that
what is read is written again with the same bytes. ``Fields`` reads what has no class of its own, key by key.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.codec.codecs import Codec as Codec
    from saccade.codec.codecs import Reader as Reader
    from saccade.codec.fields import Fields as Fields
    from saccade.codec.forms import Form as Form
    from saccade.codec.wrong import BrokenRecordError as BrokenRecordError
else:
    __getattr__, __dir__ = names_on_use(__name__)
