"""The papers' values of the settings of their recipes, where they give any."""

from collections.abc import Mapping
from types import MappingProxyType

_CODEDANCE = {
    "sft.steps": "34,000 examples once",
    "sft.batch_size": "128",
    "sft.optimizer.learning_rate": "5e-5",
    "sft.warmup_steps": "0.05 of the steps",
    "rl.steps": "63,000 questions once",
    "rl.tasks_per_step": "256",
    "rl.group_size": "8",
    "rl.optimizer.learning_rate": "1e-6",
    "rl.algorithm.name": "grpo",
    "rl.algorithm.options.kl_weight": "0",
    "rollout.max_turn_tokens": "10,240 of a response",
    "rollout.max_tokens": "10,240 of prompt and as many of response",
    "training_turns": "6",
    "evaluation_turns": "10",
    "adaptive.gamma": "4",
    "adaptive.shift": "0.2",
    "turns.penalty": "-0.5",
    "turns.discount": "0.2",
}
_IVGR = {
    "sft.steps": "35,000 trajectories once",
    "sft.batch_size": "64",
    "sft.optimizer.learning_rate": "1e-5",
    "sft.decay": "cosine",
    "model.max_pixels": "not said; 3,211,264 in its code",
    "rl.steps": "360",
    "rl.tasks_per_step": "512 prompts: 230 questions twice, 52 once",
    "rl.group_size": "5",
    "rl.temperature": "1",
    "rl.optimizer.learning_rate": "1e-6",
    "rl.decay": "constant",
    "rl.algorithm.name": "grpo",
    "rl.algorithm.clip_low": "not said; 0.2 in its code",
    "rl.algorithm.clip_high": "not said; 0.28 in its code",
    "rl.algorithm.options.kl_weight": "0.01",
    "rollout.max_turn_tokens": "4096",
    "boxed_per_step": "230: 0.45 of the prompts",
    "reward.tau": "0.3",
    "reward.grounding.validity_weight": "not said; 1 in its code",
    "reward.plain_accuracy_weight": "1; 1.5 in its code",
}
_VISTA = {
    "sft.steps": "22,170 trajectories once",
    "sft.batch_size": "128",
    "sft.optimizer.learning_rate": "2e-6",
    "rl.steps": "300",
    "rl.tasks_per_step": "128",
    "rl.group_size": "8",
    "rl.temperature": "0.7",
    "rl.optimizer.learning_rate": "5e-7",
    "rl.algorithm.name": "grpo",
    "rl.algorithm.options.kl_weight": "1e-3",
    "rollout.max_tokens": "26,780 of response",
    "rollout.tool_threads": "24 trajectories in flight",
    "max_turns": "3",
    "tail.low": "0.125",
    "tail.high": "0.375",
}

_ARGOS = {
    "sft.steps": "about 1,000",
    "sft.batch_size": "256",
    "sft.optimizer.learning_rate": "1e-5",
    "rl.steps": "about 80",
    "rl.tasks_per_step": "56",
    "rl.optimizer.learning_rate": "1e-5",
    "rl.algorithm.name": "grpo",
}
_LANG2ACT = {
    "model.max_pixels": "401,408",
    "action_rl.steps": "about 11,000 questions once",
    "action_rl.tasks_per_step": "48",
    "action_rl.minibatches": "6: batches of 8",
    "action_rl.group_size": "8; 5 in its code",
    "action_rl.optimizer.learning_rate": "1e-6",
    "action_rl.optimizer.weight_decay": "1e-2",
    "action_rl.algorithm.name": "dapo",
    "action_rl.algorithm.options.kl_weight": "1e-2; 0 in its code",
    "action_rl.temperature": "1",
    "samples": "8",
    "curation.k": "7",
    "curation.trajectories": "1,500",
    "tool_sft.steps": "0",
    "tool_rl.steps": "about 5,700 questions three times",
    "tool_rl.tasks_per_step": "128; 64 in its code",
    "tool_rl.minibatches": "2: batches of 64",
    "tool_rl.group_size": "8",
    "tool_rl.optimizer.learning_rate": "1e-6",
    "tool_rl.optimizer.weight_decay": "1e-2",
    "tool_rl.algorithm.name": "dapo",
    "reward.answer_weight": "0.8",
    "reward.tool_weight": "0.2; in its code 0.1 for the format and 0.1 for the tools",
    "rollout.max_turn_tokens": "2048",
    "rollout.max_tokens": "8192 of prompt and 2048 of response",
    "pages": "3",
}

PAPER_VALUES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"argos": _ARGOS, "codedance": _CODEDANCE, "ivgr": _IVGR, "lang2act": _LANG2ACT, "vista_r1": _VISTA}
)
"""By the module of the recipe, then by the key of the setting."""
