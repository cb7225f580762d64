"""The sandbox: code that a model wrote runs here, isolated by the kernel; each run is a transaction.

Start in ``sandbox.py`` (``Sandbox().session(images, seed)``) and ``results.py``; ``zygote.py`` is the process that
sessions are forked from, ``keeper.py`` the one that watches a session. Of Saccade it
needs the errors alone.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.sandbox.remote import RemoteSandbox as RemoteSandbox
    from saccade.sandbox.results import ErrorKind as ErrorKind
    from saccade.sandbox.results import Isolation as Isolation
    from saccade.sandbox.results import Layers as Layers
    from saccade.sandbox.results import Limits as Limits
    from saccade.sandbox.results import RunError as RunError
    from saccade.sandbox.results import RunResult as RunResult
    from saccade.sandbox.sandbox import NoIsolationWarning as NoIsolationWarning
    from saccade.sandbox.sandbox import Sandbox as Sandbox
    from saccade.sandbox.session import Session as Session
else:
    __getattr__, __dir__ = names_on_use(__name__)
