"""Many episodes at once in one process: tools that wait for a server or a model wait together.

``gymnasium.make_vec("saccade/VisualReasoning-v0", num_envs=8, ...)`` makes one of these. Gymnasium's own classes work
too, as ``vectorization_mode="sync"`` and ``"async"`` (the latter with ``vector_kwargs={"shared_memory": False}``, for
texts and pictures have no fixed size); give their first ``reset`` a seed, or all episodes are the same ones.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import cast

import gymnasium
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate

from saccade.envs.visual_reasoning import VisualObservation, VisualReasoningEnv
from saccade.errors import MachineError, UserError
from saccade.seeding import seed_for

Stepped = tuple[VisualObservation, float, bool, bool, dict[str, object]]


class VisualReasoningVectorEnv(SyncVectorEnv):
    """``num_envs`` environments whose turns run at the same time; ``settings`` are those of ``VisualReasoningEnv``.

    A turn that the machine fails is tried ``retries`` times more; then its episode, and no other one, ends truncated
    with reward 0.0 and ``info["failure"]``: it must not be learnt from. Without a seed the first ``reset`` draws other
    tasks for each environment, as ``seed`` says.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        seed: int = 0,
        retries: int = 2,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **settings: object,
    ) -> None:
        if num_envs < 1 or retries < 0:
            raise UserError(f"num_envs={num_envs} must be 1 or more, retries={retries} 0 or more")
        self._pool = ThreadPoolExecutor(num_envs, thread_name_prefix="saccade-env")
        self._ahead: list[_Ahead] = []
        self._seed = seed
        self._was_reset = False

        def make() -> gymnasium.Env[VisualObservation, str]:
            # Each checks its own settings, so that a wrong name is an error of its constructor.
            env = _Ahead(VisualReasoningEnv(seed=seed, **settings), self._pool, retries)  # type: ignore[arg-type]
            self._ahead.append(env)
            return env

        super().__init__([make] * num_envs, autoreset_mode=autoreset_mode)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, object] | None = None
    ) -> tuple[VisualObservation, dict[str, object]]:
        if seed is None and not self._was_reset:
            seed = [seed_for(self._seed, "environment", index) for index in range(self.num_envs)]
        self._was_reset = True
        return super().reset(seed=seed if seed is None or isinstance(seed, int) else list(seed), options=options)

    def step(self, actions: Sequence[str]):  # type: ignore[no-untyped-def]  # as Gymnasium's, arrays and all
        for index, action in enumerate(iterate(self.action_space, actions)):
            # Such an environment begins anew in this step and takes no action.
            if self.autoreset_mode != AutoresetMode.NEXT_STEP or not self._autoreset_envs[index]:
                self._ahead[index].begin(str(action))
        return super().step(actions)

    def close_extras(self, **options: object) -> None:
        super().close_extras(**options)
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Ahead(gymnasium.Wrapper[VisualObservation, str, VisualObservation, str]):
    """An environment whose step may be begun before its result is asked for."""

    def __init__(self, env: VisualReasoningEnv, pool: ThreadPoolExecutor, retries: int) -> None:
        super().__init__(env)
        self._pool = pool
        self._retries = retries
        self._begun: Future[Stepped] | None = None

    def begin(self, action: str) -> None:
        self._begun = self._pool.submit(self._step_with_retries, action)

    def step(self, action: str) -> Stepped:
        begun, self._begun = self._begun, None
        return self._step_with_retries(action) if begun is None else begun.result()

    def _step_with_retries(self, action: str) -> Stepped:
        for left in range(self._retries, -1, -1):
            try:
                # A step that raised has not happened, so that it may be tried again.
                return cast(Stepped, self.env.step(action))
            except MachineError as error:
                if left == 0:
                    return self._failed_step(str(error))
        raise AssertionError("the last try returns")

    def _failed_step(self, why: str) -> Stepped:
        env = cast(VisualReasoningEnv, self.env)
        info: dict[str, object] = {"task_id": env.task.id, "turns": len(env.turns), "status": "failed", "failure": why}
        return {"text": "", "images": ()}, 0.0, False, True, info
