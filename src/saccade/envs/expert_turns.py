"""An expert's turn, taken from original pixels to the model's frame."""

from collections.abc import Sequence

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols.box_text import thought_to_model
from saccade.protocols.coordinates import call_to_model
from saccade.types import ExpertTurn, ImageRef, ToolCall, ToolSpec


def in_model_frame(
    turn: ExpertTurn, specs: Sequence[ToolSpec], asked: Sequence[ImageRef], shown: Sequence[ImageRef], view: ViewRule
) -> ExpertTurn:
    """The turn with its coordinates as the model would write them.

    Boxes of the thought are on the first of the ``asked`` images, those of a call on the one of the ``shown`` images
    that it names. ``UserError`` for a call of a tool that is not in ``specs``.
    """
    thought = thought_to_model(turn.thought, asked, view)
    if not isinstance(turn.action, ToolCall):
        return ExpertTurn(thought=thought, action=turn.action)
    spec = next((spec for spec in specs if spec.name == turn.action.name), None)
    if spec is None:
        raise UserError(f"the expert calls {turn.action.name!r}, which the environment does not offer")
    return ExpertTurn(thought=thought, action=call_to_model(turn.action, spec, shown, view))
