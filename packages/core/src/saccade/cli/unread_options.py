"""Options that one way of using a command does not read: they are refused, not passed over in silence."""

import click
from click.core import ParameterSource

from saccade.errors import UserError


def refuse_unread(why: str, *parameters: str) -> None:
    """UserError for the first option of these parameters that was given; it has no effect ``why``, ``without --data``
    say. Defaults are none that was given."""
    context = click.get_current_context()
    for option in context.command.params:
        is_default = context.get_parameter_source(option.name or "") in (ParameterSource.DEFAULT, None)
        if option.name in parameters and not is_default:
            raise UserError(f"{max(option.opts, key=len)} has no effect {why}; leave it out")
