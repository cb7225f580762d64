"""Prices of models, from a file of the user's: what an evaluation cost in money.

::

    currency = "USD"
    [models."Qwen2.5-VL-72B-Instruct"]
    input = 1.95     # for a million tokens
    output = 8.00
"""

from dataclasses import dataclass
from pathlib import Path

from saccade.errors import UserError
from saccade.parsing import toml_table
from saccade.plain_files import plain_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """Price of a model's tokens, by the million."""

    input: float
    output: float
    currency: str = "USD"

    def of(self, tokens_in: int, tokens_out: int) -> float:
        return (self.input * tokens_in + self.output * tokens_out) / 1e6


def read_price(path: Path, model: str) -> Price:
    """The price of a model by its name in a TOML file; UserError that says what is wrong."""
    try:
        content = toml_table(plain_text(path))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as TOML: {error}") from error
    models = content.get("models")
    if not isinstance(models, dict) or not isinstance(models.get(model), dict):
        known = ", ".join(models) if isinstance(models, dict) else "none"
        raise UserError(f'{path} has no price of {model!r} (it has {known}); add [models."{model}"] with input, output')
    entry, currency = models[model], content.get("currency", "USD")
    found = [entry.get(name) for name in ("input", "output")]
    if not all(isinstance(one, int | float) and not isinstance(one, bool) and one >= 0 for one in found):
        raise UserError(f"{path}: input and output of {model!r} must be prices per million tokens, not {found}")
    return Price(input=float(found[0]), output=float(found[1]), currency=str(currency))
