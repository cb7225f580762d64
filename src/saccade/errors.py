"""The error tree: whose mistake it was decides what happens next."""


class SaccadeError(Exception):
    """Anything that Saccade raises on purpose."""


class UserError(SaccadeError, ValueError):
    """The user's mistake, found before work starts: says what, shows the value, says what to do.

    The command line prints the message alone and exits with status 2.
    """


class ToolError(SaccadeError):
    """The policy's mistake in a tool call: the message goes back to the model as an observation."""


class MachineError(SaccadeError):
    """The machine's failure (a judge is down, a tool server is gone): the trajectory ends ``failed``, never scored."""
