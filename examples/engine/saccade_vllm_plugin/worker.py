"""What a worker of vLLM does for Saccade besides its own work; vLLM's ``--worker-extension-cls``."""

import os

STATUS = 70


class SaccadeWorker:
    def saccade_end(self) -> None:
        """Ends this process, and with it the server: its weights are of no version. Its supervisor starts another."""
        os._exit(STATUS)
