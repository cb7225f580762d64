"""CPU time of a question in verifiers' own loop, alone and behind our adapter in the same process.

Runs in the Python of verifiers with the package's ``src`` in PYTHONPATH; ``world_overhead.py`` starts it there.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from saccade.interop.environments.verifiers_world import VerifiersSource, VerifiersWorld, _client
from saccade.interop.environments.world import NumberedEpisode

ANSWER = "<answer>3</answer>"


class Answers:
    """Stands for the world: its turn is there at once."""

    async def reply_to(self, messages: object) -> str:
        return ANSWER


def alone(source: VerifiersSource) -> Callable[[int], None]:
    client: Any = _client(Answers())  # type: ignore[arg-type]
    rows = source.rows("train")

    def play(count: int) -> None:
        async def all_of_them() -> None:
            for number in range(count):
                await source.environment._run_rollout_state(dict(rows[number]), client, "policy", {})

        asyncio.run(all_of_them())

    return play


def adapted(world: VerifiersWorld) -> Callable[[int], None]:
    def play(count: int) -> None:
        for number in range(count):
            world.reset(NumberedEpisode(number=number))
            world.step(ANSWER)

    return play


def main() -> None:
    name, arguments, count, rounds = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    source = VerifiersSource(id=name, arguments=arguments)
    world = source.make()
    ways = {"alone": alone(source), "adapted": adapted(world)}
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for play in ways.values():
        play(5)
    for _ in range(rounds):
        for way, play in ways.items():
            before = time.process_time()
            play(count)
            spent[way].append(1e3 * (time.process_time() - before) / count)
    world.close()
    print(json.dumps({way: statistics.median(each) for way, each in spent.items()}))


if __name__ == "__main__":
    main()
