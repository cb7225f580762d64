"""What a reward is."""

from collections.abc import Callable

from saccade.types import Score, Task, Trajectory

Scorer = Callable[[Task, Trajectory], Score]
"""Pure: the same task and trajectory give the same score. Reads the model's own text, never an observation.

Raises ``ValueError`` on a ``failed`` trajectory: the machine's failure says nothing about the policy.
"""
