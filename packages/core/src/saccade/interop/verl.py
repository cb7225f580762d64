"""Any reward of ours as verl's ``compute_score``, Argos' verifier above all.

A file of yours that ``custom_reward_function.path`` names:

    compute_score = score_function(ArgosReward(...), read_tasks("my.jsonl", media=media).tasks, view=view)

verl calls it with one response at a time, so that a reward of a group sees no siblings, and knows no score that is
missing. What a machine fails is therefore tried again and then raised as a MachineError: it must not become 0.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from saccade.errors import MachineError, UserError
from saccade.media.resize import ViewRule
from saccade.protocols.pointed import pointed_protocol
from saccade.protocols.protocol import ChatProtocol
from saccade.retries import back_off_s
from saccade.rewards.groups import scored_alone
from saccade.rewards.responses import response_of
from saccade.rewards.reward import AnyReward
from saccade.types import Score, Task

ScoreFunction = Callable[..., dict[str, float]]
"""verl's shape: ``(data_source, solution_str, ground_truth, extra_info, **others) -> {"score": ..., ...}``."""


def score_function(
    reward: AnyReward,
    tasks: Sequence[Task],
    *,
    view: ViewRule | None = None,
    protocol: ChatProtocol | None = None,
    opening: str = "",
    tries: int = 3,
    wait_s: float = 1.0,
) -> ScoreFunction:
    """The function for verl's ``custom_reward_function``: ``score``, the total, and ``acc``, 1.0 where it is right.

    The task is the one whose id is ``extra_info["task"]``, else the only one. Arguments are those of
    ``saccade.interop.trl.reward_function``. A response without a verdict is asked for ``tries`` times, with waits that
    begin at ``wait_s`` seconds and double; then MachineError. Safe to call from the threads that verl calls it from.
    """
    by_id = {task.id: task for task in tasks}
    if len(by_id) < len(tasks) or not tasks:
        raise UserError(f"{len(tasks)} tasks have {len(by_id)} different ids; rows name tasks by them, one each")
    if tries < 1:
        raise UserError(f"tries={tries} never asks the reward; use 1 or more")
    reads = pointed_protocol() if protocol is None else protocol

    def compute_score(
        data_source: str,
        solution_str: str,
        ground_truth: object,
        extra_info: Mapping[str, object] | None = None,
        **others: object,
    ) -> dict[str, float]:
        task = _task(by_id, extra_info or {}, data_source)
        response = response_of(task, [opening + solution_str], reads, view=view)
        why = ""
        for attempt in range(tries):
            if attempt:
                time.sleep(back_off_s(attempt - 1, first_wait_s=wait_s, seed=0))
            found = scored_alone(task, response, reward)
            if isinstance(found, Score):
                return {"score": found.total, "acc": float(bool(found.is_right))}
            why = found
        raise MachineError(f"task {task.id}: {why}, {tries} times; it must not be scored 0")

    return compute_score


def _task(by_id: Mapping[str, Task], extra_info: Mapping[str, object], data_source: str) -> Task:
    key = extra_info.get("task")
    if key is None and len(by_id) == 1:
        return next(iter(by_id.values()))
    task = by_id.get(str(key))
    if task is None:
        raise UserError(
            f"extra_info['task']={key!r} of data source {data_source!r} is none of the {len(by_id)} tasks given; rows "
            "must name the task by its id"
        )
    return task
