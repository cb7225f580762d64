"""Receipts: prices of items, their sum, what was given and what came back, where and when."""

from dataclasses import replace

from numpy.random import Generator

from saccade.gym.grammars.quantities import Measure, QuantityState
from saccade.gym.grammars.words import FIRMS
from saccade.gym.levels import Levels
from saccade.tasks.scene import pick


def with_sum(rng: Generator, levels: Levels, state: QuantityState) -> QuantityState:
    """Prices in cents with their sum; a share of a state has a tip or a discount of its own line."""
    prices = tuple(float(cents) / 100 for cents in rng.choice(range(60, 1990), size=len(state.entries), replace=False))
    total = round(sum(prices), 2)
    given = next(note for note in (5, 10, 20, 50, 100, 200, 500) if note > total)
    printed = {
        "Items": str(len(prices)),
        "Total": f"{total:.2f}",
        "Cash": f"{given:.2f}",
        "Change": f"{given - total:.2f}",
        "Date": f"{int(rng.integers(1, 29)):02d}.{int(rng.integers(1, 13)):02d}.{int(rng.integers(2015, 2027))}",
        "Time": f"{int(rng.integers(7, 22)):02d}:{int(rng.integers(60)):02d}",
        "Till": str(int(rng.integers(1, 30))),
        "Receipt": f"{int(rng.integers(10**5, 10**6))}",
    }
    price = Measure(name="price", values=prices, reading="printed", step=0.01, decimals=2)
    return replace(state, measures=(price,), title=f"{pick(rng, FIRMS)} market", printed=printed)
