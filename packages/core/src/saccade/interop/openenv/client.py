"""A typed client of our OpenEnv server: one object is one session, to be used by one thread at a time."""

from collections.abc import Mapping
from typing import cast

from openenv.core.client_types import StepResult

from saccade.interop.openenv.connection import MESSAGE_BYTES, WideEnvClient
from saccade.interop.openenv.messages import SaccadeAction, SaccadeObservation, SaccadeState

__all__ = ["MESSAGE_BYTES", "SaccadeEnvClient"]


class SaccadeEnvClient(WideEnvClient):
    """``with SaccadeEnvClient("http://host:port") as env: env.reset(seed=1); env.step(SaccadeAction(text=...))``."""

    def reset(self, **options: object) -> StepResult[SaccadeObservation]:
        """``seed``, ``episode_id``, ``task_id``."""
        return super().reset(message_bytes=self._message_bytes, **options)

    def step(self, action: SaccadeAction | str, **options: object) -> StepResult[SaccadeObservation]:
        """One turn; a bare text is one too."""
        return super().step(SaccadeAction(text=action) if isinstance(action, str) else action, **options)

    def _step_payload(self, action: SaccadeAction) -> dict[str, object]:
        return {"text": action.text}

    def _parse_result(self, payload: Mapping[str, object]) -> StepResult[SaccadeObservation]:
        fields = payload.get("observation")
        reward, is_done = payload.get("reward"), bool(payload.get("done"))
        observation = SaccadeObservation.model_validate(fields)
        observation.reward = cast("float | None", reward)
        observation.done = is_done
        return StepResult(observation=observation, reward=observation.reward, done=is_done)

    def _parse_state(self, payload: Mapping[str, object]) -> SaccadeState:
        return cast(SaccadeState, SaccadeState.model_validate(payload))
