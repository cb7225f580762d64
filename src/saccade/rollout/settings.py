"""What to roll out, and how."""

from dataclasses import dataclass

from saccade.errors import UserError
from saccade.types import Task


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutRequest:
    """One trajectory that is wanted."""

    task: Task
    stream: str
    sample: int
    """Index inside its group."""
    seed: int
    """Seed of this trajectory alone: ``seed_for(root, "rollout", stage, step, task.id, stream, sample)``."""

    @property
    def label(self) -> str:
        return f"{self.task.id}/{self.stream}/{self.sample}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutSettings:
    """How trajectories are sampled and how long they may become."""

    max_turn_tokens: int = 256
    """Tokens that the model may write in one turn."""
    max_tokens: int = 4096
    """Limit of a whole trajectory: prompt, turns and observations."""
    temperature: float = 1.0
    """0 is greedy."""
    top_p: float = 1.0
    top_k: int = 0
    """0 keeps all tokens."""
    tool_threads: int = 16
    """Environments that may be at work at the same time."""
    machine_retries: int = 2
    """How often a step that failed by no fault of the policy is tried again before the trajectory ends ``failed``."""
    retry_wait_s: float = 0.5
    """Before the first retry; doubles with each."""

    def __post_init__(self) -> None:
        if self.max_turn_tokens < 1 or self.max_tokens < 2 or self.tool_threads < 1:
            raise UserError(
                f"max_turn_tokens={self.max_turn_tokens}, max_tokens={self.max_tokens} and "
                f"tool_threads={self.tool_threads} must be positive, and max_tokens at least 2"
            )
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.top_k < 0:
            raise UserError(
                f"temperature={self.temperature}, top_p={self.top_p}, top_k={self.top_k}: use a temperature of 0 or "
                "more, a top_p above 0 and up to 1, a top_k of 0 (all tokens) or more"
            )
        if self.machine_retries < 0 or self.retry_wait_s < 0:
            raise UserError(
                f"machine_retries={self.machine_retries} and retry_wait_s={self.retry_wait_s} must not be negative"
            )
