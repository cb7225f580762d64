"""A typed client of our OpenEnv server: one object is one session, to be used by one thread at a time."""

from collections.abc import Mapping
from typing import cast

from saccade.interop.openenv.connection import MESSAGE_BYTES, SessionStep, WideEnvClient
from saccade.interop.openenv.messages import SaccadeAction, SaccadeObservation, SaccadeState

__all__ = ["MESSAGE_BYTES", "SaccadeEnvClient"]


class SaccadeEnvClient(WideEnvClient[SaccadeObservation]):
    """``with SaccadeEnvClient("http://host:port") as env: env.reset(seed=1); env.step(SaccadeAction(text=...))``."""

    def reset(self, **options: object) -> SessionStep[SaccadeObservation]:
        """``seed``, ``episode_id``, ``task_id``."""
        return super().reset(message_bytes=self._message_bytes, **options)

    def step(self, action: SaccadeAction | str) -> SessionStep[SaccadeObservation]:
        """One turn; a bare text is one too."""
        return super().step({"text": action if isinstance(action, str) else action.text})

    def state(self) -> SaccadeState:
        """State of the episode."""
        return cast(SaccadeState, SaccadeState.model_validate(super().state()))

    def _result(self, data: Mapping[str, object]) -> SessionStep[SaccadeObservation]:
        answer = super()._result(data)
        observation = SaccadeObservation.model_validate(answer.observation)
        observation.reward, observation.done = answer.reward, answer.done
        return SessionStep(observation, answer.reward, answer.done)
