"""Names of settings near one that is not known: abbreviations, words of other libraries, and typing mistakes."""

import difflib
from collections.abc import Mapping, Sequence
from types import MappingProxyType

SHOWN = 4

ELSEWHERE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "batch_size": ("tasks_per_step",),
        "rollout_batch_size": ("tasks_per_step",),
        "train_batch_size": ("tasks_per_step",),
        "n": ("group_size",),
        "num_generations": ("group_size",),
        "rollout_n": ("group_size",),
        "num_train_epochs": ("steps",),
        "epochs": ("steps",),
        "max_steps": ("steps",),
        "num_iterations": ("inner_epochs",),
        "ppo_epochs": ("inner_epochs",),
        "beta": ("kl_weight",),
        "kl_coef": ("kl_weight",),
        "kl_loss_coef": ("kl_weight",),
        "epsilon": ("clip_low", "clip_high"),
        "epsilon_high": ("clip_high",),
        "clip_ratio": ("clip_low", "clip_high"),
        "max_completion_length": ("max_turn_tokens", "max_tokens"),
        "max_response_length": ("max_turn_tokens", "max_tokens"),
        "max_new_tokens": ("max_turn_tokens",),
        "max_prompt_length": ("max_tokens",),
        "gradient_accumulation_steps": ("micro_batch_tokens",),
        "micro_batch_size": ("micro_batch_tokens",),
        "gradient_checkpointing": ("activation_checkpointing",),
        "max_grad_norm": ("max_gradient_norm",),
        "grad_clip": ("max_gradient_norm",),
        "save_steps": ("checkpoint_every",),
        "save_freq": ("checkpoint_every",),
        "eval_steps": ("evaluate_every",),
        "test_freq": ("evaluate_every",),
        "torch_dtype": ("dtype",),
        "lora_rank": ("rank",),
        "lora_r": ("rank",),
    }
)
"""What TRL, verl and transformers call a setting, and the last word of ours."""


def near_keys(key: str, known: Sequence[str]) -> list[str]:
    """At most ``SHOWN`` known dotted keys that may be meant, the surest kind of likeness first.

    In this order: the same last word elsewhere, another library's word for it, its abbreviation (``lr``), a last word
    that holds it, a likeness of letters.
    """
    word = key.rpartition(".")[2].casefold()
    group = key.rpartition(".")[0].casefold()
    meant = ELSEWHERE.get(word, ())
    likenesses = (
        [name for name in known if _last(name) == word],
        [name for name in known if _last(name) in meant],
        [name for name in known if _is_abbreviation(word, _last(name))],
        [name for name in known if len(word) >= 3 and word in _last(name)],
        difflib.get_close_matches(key, known, n=1, cutoff=0.6)
        or [name for name in known if _last(name) in difflib.get_close_matches(word, map(_last, known), n=1)],
    )
    found = next((names for names in likenesses if names), [])
    inside = [name for name in found if group and name.casefold().startswith(f"{group}.")]
    return (inside or found)[:SHOWN]


def _last(name: str) -> str:
    return name.rpartition(".")[2].casefold()


def _is_abbreviation(word: str, name: str) -> bool:
    """The first letters of the name's words (``lr``, ``wd``), or shortened words (``learn_rate``, ``max_tok``)."""
    parts = name.split("_")
    if len(word) > 1 and word == "".join(part[0] for part in parts if part):
        return True
    shortened = word.split("_")
    return len(shortened) == len(parts) and all(len(a) > 1 and b.startswith(a) for a, b in zip(shortened, parts))
