"""Names of a run's metrics: what the trainer writes, and the report, the progress line and ``saccade show`` look for.

A name that only one place knows (an algorithm's own sums, say) stands there; a metric without a chart of its own is
drawn by its name.
"""

TIME_PREFIX = "time/"
"""Before everything that depends on the clock; all else is the same for the same seed."""
WALL_S = f"{TIME_PREFIX}wall_s"
"""Seconds that the run has worked, without the time between a kill and its resume; in every record."""
STEP_S = f"{TIME_PREFIX}step_s"
TOKENS_PER_S = f"{TIME_PREFIX}tokens_per_s"

HELD_OUT_PREFIX = "held_out/"
"""Before those of an evaluation in the middle of a training stage."""
FIRST_PASS_PREFIX = "first_pass/"

NLL = "nll"
"""Mean -log p of an expert's tokens: the loss of imitation."""
ENTROPY = "entropy"
"""Nats per token of what was learned from."""
UPDATES = "updates"
"""Optimiser steps that a batch took; 0 where it taught nothing."""
ACTION_TOKENS = "action_tokens"
FORWARDED_TOKENS = "forwarded_tokens"
SKIPPED = "skipped"
"""Optimiser steps left out because a loss was not finite."""
REFERENCE_KL = "reference_kl"
MISMATCH_KL = "mismatch_kl"
CLIP_FRACTION = "clip_fraction"

REWARD_PREFIX = "reward/"
"""Before the mean of each term of the reward."""
NOTED_PREFIX = "noted/"
"""Before the mean of each note of the reward."""
REWARD_MEAN = f"{REWARD_PREFIX}mean"
REWARD_ACCURACY = f"{REWARD_PREFIX}accuracy"

TOOL_RATE = "rollout/tool_rate"
TURNS = "rollout/turns"
TOKENS_WRITTEN = "rollout/action_tokens"
TRUNCATED = "rollout/truncated"
FAILED = "rollout/failed"
SAMPLED_ENTROPY = "rollout/entropy"
CONSTANT_GROUPS = "rollout/constant_groups"
EVICTED_GROUPS = "rollout/evicted_groups"
ROUNDS = "rollout/rounds"
STALENESS = "rollout/staleness"

CALLS = "calls/mean"
"""Above 0 where a tool was called."""
CALLS_RAN = "calls/success_rate"
ANSWERED_WITHOUT_CALL = "calls/answered_without"
CALLS_FAILED_PREFIX = "calls/failed_"
CALLS_AT_ACCURACY_PREFIX = "calls/at_accuracy_"
"""Before the lower bound of a band of accuracies, in per cent."""

LOOK_IOU = "look/iou"
LOOK_COVERAGE = "look/coverage"

VIEW_CROPS = "views/crops"
VIEW_UNION = "views/union"
VIEW_NONE = "views/none"
