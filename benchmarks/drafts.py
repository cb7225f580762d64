"""What drafts (``model.engine.drafts``) spare: the policy of a run samples its recorded trajectories anew.

    python benchmarks/drafts.py runs/mine/trajectories/rl/step-00000[78].jsonl [--checkpoint DIR] [--count 16]
        [--drafts 0 4 8] [--repeats 1] [--precision medium]

Each file is a batch; one engine plays them in turn, as in a run. Each turn is sampled after what the engine has written
before it and the recorded observation. A JSON line for each length of drafts and batch: tokens, decode steps, forwards
of rows that were spared, seconds on the processor, and whether the tokens are those without drafts.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from saccade.engines.engine import Completion, Sampling
from saccade.engines.local import LocalEngine
from saccade.media.store import MediaStore
from saccade.models.loading import LoadSettings, load_model
from saccade.runs.recorded_episodes import add_images
from saccade.runs.records import images_of, read_records
from saccade.types import Segment


async def trajectory(slot, context: Sequence[Segment], seed: int, sampling: Sampling) -> list[Completion]:
    ids, images, turns = [], [], []
    for segment in context:
        if segment.role != "action":
            ids, images = [*ids, *segment.ids], [*images, *segment.images]
            continue
        own = Sampling(
            seed=seed, max_tokens=len(segment.ids) + 16, temperature=sampling.temperature, stop=sampling.stop
        )
        turns.append(await slot.sample(ids, images, own))
        ids = [*ids, *turns[-1].ids]
    slot.close()
    return turns


def play(engine: LocalEngine, records, sampling: Sampling) -> list[list[Completion]]:
    async def batch() -> list[list[Completion]]:
        async with engine.sequences([str(index) for index in range(len(records))]) as slots:
            return await asyncio.gather(
                *(
                    trajectory(slot, one.trajectory.contexts[0], one.trajectory.seed, sampling)
                    for slot, one in zip(slots, records)
                )
            )

    return asyncio.run(batch())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--checkpoint", type=Path, help="by default the last of the run")
    parser.add_argument("--count", type=int, default=16)
    parser.add_argument("--drafts", type=int, nargs="+", default=[0, 4, 8])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--stop", nargs="*", default=["</tool_call>", "</code>", "</answer>"])
    parser.add_argument("--precision", default="highest", choices=["highest", "high", "medium"])
    options = parser.parse_args()
    run = options.records[0].parents[2]
    checkpoint = options.checkpoint or sorted((run / "checkpoints").iterdir())[-1]
    media = MediaStore()
    batches = [list(islice(read_records(path), options.count)) for path in options.records]
    for one in (record for batch in batches for record in batch):
        add_images(images_of(one), run / "media", media, run)
    model = load_model(checkpoint, media, LoadSettings(device="cpu", matmul_precision=options.precision))
    sampling = Sampling(seed=0, temperature=options.temperature, stop=tuple(options.stop))
    without: dict[int, list[list[Completion]]] = {}
    for repeat in range(options.repeats):
        for drafts in options.drafts:
            engine = LocalEngine(model, drafts=drafts)
            for number, batch in enumerate(batches):
                before, begun = engine.work, time.process_time()
                turns = play(engine, batch, sampling)
                seconds, work = time.process_time() - begun, engine.work
                plain = without.setdefault(number, turns)
                same = sum(one.ids == other.ids for a, b in zip(turns, plain) for one, other in zip(a, b))
                tokens = work.tokens_sampled - before.tokens_sampled
                accepted = work.drafts_accepted - before.drafts_accepted
                told = {
                    "drafts": drafts,
                    "repeat": repeat,
                    "batch": number,
                    "tokens": tokens,
                    "decode steps": work.decode_steps - before.decode_steps,
                    "drafted": work.tokens_drafted - before.tokens_drafted,
                    "accepted": accepted,
                    "spared": round(accepted / tokens, 3),
                    "cpu_s": round(seconds, 2),
                    "tokens per cpu_s": round(tokens / seconds, 1),
                    "turns alike": f"{same} of {sum(map(len, turns))}",
                }
                print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
