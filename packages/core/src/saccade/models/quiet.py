"""transformers without its messages, one thread at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from transformers.utils import logging

_ALONE = threading.RLock()


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Inside, errors alone are said: a run has its own progress, and a checkpoint's faults end its loading in words.

    transformers also changes what all threads share while it loads: two at a time lose weights that are tied.
    """
    with _ALONE:
        verbosity, shows_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        try:
            yield
        finally:
            logging.set_verbosity(verbosity)
            if shows_bars:
                logging.enable_progress_bar()
