"""What the adapters of foreign environments add to a step: CPU time of a step alone and behind the adapter.

OMP_NUM_THREADS=1 python benchmarks/world_overhead.py --verifiers envs/verifiers/bin/python --json FILE

Both ways alternate in rounds; each figure is the median of the rounds, in milliseconds of CPU time of this process.
The server of OpenEnv runs in a process of its own and is not counted. ``hashing`` is what ``WorldEnv`` adds to a step
whose observation is a picture: reading the action, the hash of the pixels, and keeping them.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
from environment_seeds import SUMS
from seed_runs import write_results
from world_overhead_server import serve

from saccade.envs.environment import EnvironmentContext
from saccade.interop.environments.bridge import BridgedSource
from saccade.interop.environments.sources import WorldNames, source_of
from saccade.interop.environments.world import NumberedEpisode, World, WorldSource, episode_task
from saccade.interop.environments.world_env import WorldEnv, WorldSettings
from saccade.media.store import MediaStore
from saccade.protocols import direct_protocol
from saccade.testing import TINY_VIEW

Play = Callable[[int], None]
"""Takes so many steps."""

ROOT = Path(__file__).parents[1]
VERIFIERS = "verifiers.envs.integrations.reasoninggym_env:ReasoningGymEnv"
MAZE = "MiniGrid-Empty-8x8-v0"


def stepping(world: World, action: str) -> Play:
    """Steps of the world, which is begun anew when an episode ends."""
    world.reset(NumberedEpisode(number=0))

    def play(count: int) -> None:
        for number in range(count):
            result = world.step(action)
            if result.terminated or result.truncated:
                world.reset(NumberedEpisode(number=number))

    return play


def gymnasium_ways(tile: int) -> dict[str, Play]:
    """MiniGrid turned on the spot, a picture of so many pixels a tile."""
    import gymnasium
    import minigrid  # noqa: F401

    own: Any = gymnasium.make(MAZE, render_mode="rgb_array", tile_size=tile)
    own.reset(seed=0)

    def alone(count: int) -> None:
        for _ in range(count):
            _, _, terminated, truncated, _ = own.step(0)
            own.render()
            if terminated or truncated:
                own.reset(seed=0)

    source = source_of(WorldNames(env=f"gymnasium:{MAZE}", arguments={"tile_size": tile}))
    return {"alone": alone, "adapted": stepping(source.make(), "left"), "hashing": played(source, "left")}


def played(source: WorldSource, action: str) -> Play:
    """Steps of the whole environment, with the model's text read and pictures kept."""
    settings = WorldSettings(form="text")
    context = EnvironmentContext(media=MediaStore(), view=TINY_VIEW, protocol=direct_protocol(), max_turns=1 << 30)
    env = WorldEnv(context, source, settings)
    task = episode_task(source.name, NumberedEpisode(number=0))
    env.reset(options={"task": task})

    def play(count: int) -> None:
        for _ in range(count):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset(options={"task": task})

    return play


def textarena_ways() -> dict[str, Play]:
    import textarena

    game: Any = textarena.make("GuessTheNumber-v0-raw")
    game.reset(num_players=1, seed=0)

    def alone(count: int) -> None:
        for _ in range(count):
            game.get_observation()
            done, _ = game.step("[21]")
            if done:
                game.reset(num_players=1, seed=0)

    return {"alone": alone, "adapted": stepping(source_of(WorldNames(env="textarena:GuessTheNumber-v0")).make(), "21")}


def reasoning_gym_ways() -> dict[str, Play]:
    import reasoning_gym

    questions = reasoning_gym.create_dataset("chain_sum", seed=0, size=1 << 30)
    world = source_of(WorldNames(env="reasoning_gym:chain_sum")).make()

    def alone(count: int) -> None:
        for number in range(count):
            questions.score_answer("3", questions[number])

    def adapted(count: int) -> None:
        for number in range(count):
            world.reset(NumberedEpisode(number=number))
            world.step("3")

    return {"alone": alone, "adapted": adapted}


@contextmanager
def openenv_ways() -> Iterator[dict[str, Play]]:
    """A session of OpenEnv's own client, and our world, at one server of small pictures and text."""
    from openenv.core.generic_client import GenericEnvClient

    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url = ours.recv()
    with ExitStack() as stack:
        stack.callback(server.terminate)
        client: Any = stack.enter_context(GenericEnvClient(base_url=url))
        client.reset(seed=0)

        def alone(count: int) -> None:
            for _ in range(count):
                client.step({"lever": 0})

        world = stack.enter_context(closing(source_of(WorldNames(env=f"openenv:{url}")).make()))
        yield {"alone": alone, "adapted": stepping(world, "0")}


def compared(ways: dict[str, Play], count: int, rounds: int) -> dict[str, float]:
    """Milliseconds of CPU time of a step, the median of the rounds."""
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for play in ways.values():
        play(10)
    for _ in range(rounds):
        for way, play in ways.items():
            before = time.process_time()
            play(count)
            spent[way].append(1e3 * (time.process_time() - before) / count)
    return {way: sorted(each)[len(each) // 2] for way, each in spent.items()}


def verifiers_figures(python: Path, count: int, rounds: int) -> dict[str, float]:
    """A question of one turn: verifiers' own loop, our adapter there, and from here through the bridge."""
    words = [str(python), str(ROOT / "benchmarks/world_overhead_verifiers.py"), VERIFIERS, json.dumps(SUMS)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    there = subprocess.run([*words, str(count), str(rounds)], check=True, capture_output=True, text=True, env=environ)
    found: dict[str, float] = json.loads(there.stdout.splitlines()[-1])
    with BridgedSource(names=WorldNames(env=f"verifiers:{VERIFIERS}", arguments=SUMS), python=python) as source:
        world = source.make()
        [host] = psutil.Process().children(recursive=True)
        each = []
        for number in range(rounds + 1):
            here, before = time.process_time(), host.cpu_times()
            for question in range(count if number else 5):
                world.reset(NumberedEpisode(number=question))
                world.step("<answer>3</answer>")
            after = host.cpu_times()
            spent = time.process_time() - here + after.user + after.system - before.user - before.system
            each.append(1e3 * spent / count)
        found["bridged"] = sorted(each[1:])[rounds // 2]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--verifiers", type=Path, help="The Python of verifiers.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: dict[str, dict[str, float]] = {}
    cases = {"gymnasium 64 px": lambda: gymnasium_ways(8), "gymnasium 256 px": lambda: gymnasium_ways(32)}
    for name, ways in {**cases, "textarena": textarena_ways, "reasoning_gym": reasoning_gym_ways}.items():
        rows[name] = compared(ways(), options.steps, options.rounds)
    with openenv_ways() as ways:
        rows["openenv"] = compared(ways, options.steps, options.rounds)
    if options.verifiers:
        rows["verifiers"] = verifiers_figures(options.verifiers, options.steps, options.rounds)
    for name, row in rows.items():
        print(name, {way: round(value, 3) for way, value in row.items()})
    if options.json:
        write_results(options.json, "world_overhead.py", [{"adapter": name, **row} for name, row in rows.items()])


if __name__ == "__main__":
    main()
