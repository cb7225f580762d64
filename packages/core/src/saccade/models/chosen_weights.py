"""Weights that a regular expression names, and the modules that hold them; by the names of a model without adapter."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import regex
from torch import nn

from saccade.errors import UserError

_MATCH_S = 10.0
"""Time in which an expression must be found in a name or not; those that are take microseconds."""
_MOST_NAMED = 3


def plain_weights(hf: nn.Module) -> dict[str, nn.Parameter]:
    """The model's own weights, each once, without those of an adapter."""
    return {_plain(name): weight for name, weight in hf.named_parameters() if ".lora_" not in name}


def tied_names(hf: nn.Module) -> Mapping[int, Sequence[str]]:
    """The names of each weight that has several, by its identity."""
    names: dict[int, list[str]] = defaultdict(list)
    for name, weight in hf.named_parameters(remove_duplicate=False):
        names[id(weight)].append(_plain(name))
    return {weight: found for weight, found in names.items() if len(found) > 1}


def chosen_names(pattern: str, hf: nn.Module) -> list[str]:
    """The weights in one of whose names the expression is found; a tied weight by its first name.

    UserError where that is none of them or all, or where the expression is not matched in time.
    """
    own, tied = plain_weights(hf), tied_names(hf)
    found = [name for name, weight in own.items() if any(_finds(pattern, tied.get(id(weight), [name])))]
    if len(found) == len(own):
        raise UserError(f"trained={pattern!r} names all {len(own)} weights; leave it out, which trains all of them")
    if not found:
        parts = dict.fromkeys(".".join(name.split(".")[:2]) for name in own)
        raise UserError(
            f"trained={pattern!r} is found in no weight's name; those of this model begin with {', '.join(parts)}, and "
            f"one is called {next(iter(own))}"
        )
    return found


def holders(hf: nn.Module, names: Collection[str]) -> tuple[str, ...]:
    """The modules that hold these weights, none inside another, as PEFT's ``modules_to_save`` names what is whole."""
    found = {name.rpartition(".")[0] for name in names}
    above = {name: [name[:end] for end, letter in enumerate(name) if letter == "."] for name in found}
    return tuple(name for name in _module_names(hf) if name in found and not found.intersection(above[name]))


def saved_holders(hf: nn.Module, ends: Sequence[str]) -> tuple[str, ...]:
    """The ``holders`` of all weights in the modules whose paths end with one of the names that PEFT wrote."""
    inside = tuple(f"{name}." for name in _module_names(hf) if name.endswith(tuple(ends)))
    return holders(hf, [name for name, _ in hf.named_parameters(remove_duplicate=False) if name.startswith(inside)])


def in_words(hf: nn.Module, names: Collection[str]) -> str:
    """How many of the model's weights these are, and of which modules."""
    own = plain_weights(hf)
    modules = [*_whole_modules(hf, "", set(names))]
    more = f" and {len(modules) - _MOST_NAMED} more" if len(modules) > _MOST_NAMED else ""
    chosen, all_weights = (sum(own[name].numel() for name in some) for some in (names, own))
    ties = [f"; {also[0]} is also {', '.join(also[1:])}" for also in tied_names(hf).values() if also[0] in names]
    return (
        f"{len(names)} of {len(own)} weights ({count_in_words(chosen)} of {count_in_words(all_weights)} numbers): "
        f"{', '.join(modules[:_MOST_NAMED])}{more}{''.join(ties)}"
    )


def count_in_words(count: int) -> str:
    """Millions of numbers, or fewer as they are."""
    return f"{count / 1e6:,.1f} M" if count >= 100_000 else f"{count:,}"


def _whole_modules(module: nn.Module, path: str, names: set[str]) -> Iterator[str]:
    """The largest modules all of whose weights are among the names, and the weights that are left."""
    own = [f"{path}{_plain(name)}" for name, _ in module.named_parameters() if ".lora_" not in name]
    if own and names.issuperset(own):
        yield path.removesuffix(".")
        return
    yield from (f"{path}{name}" for name, _ in module.named_parameters(recurse=False) if f"{path}{name}" in names)
    for name, child in module.named_children():
        yield from _whole_modules(child, f"{path}{name}.", names)


def _module_names(hf: nn.Module) -> list[str]:
    return [name for name, _ in hf.named_modules() if ".lora_" not in name and not name.endswith(".base_layer")]


def _finds(pattern: str, names: Sequence[str]) -> Iterator[bool]:
    try:
        for name in names:
            yield regex.search(pattern, name, timeout=_MATCH_S) is not None
    except TimeoutError:
        raise UserError(f"trained={pattern!r} is not matched within {_MATCH_S:g} s; write it simpler") from None


def _plain(name: str) -> str:
    return name.replace(".base_layer.", ".")
