"""Priors of the gym: how often the usual answer of each program is right at each level, without pictures.

    OMP_NUM_THREADS=1 python -m studies.gym.priors --json studies/gym/priors.json [FAMILY[/PROGRAM] ...]

Each program of each family is asked 60 questions at the levels 0, 0.5 and 1, in its first look; a picture is drawn
only where the program looks at it. Each half is answered by what is most often right in the other: the answer with the
highest share, or of the options the one that is right most often where it is offered. Chance is one of the options, or
one of the answers that occur, those below 2 % counting by their share of it. A program is told where its usual answer
is more than 12 points above chance and the 95 % interval (Wilson) excludes 5 points: of a thousand and more, some are
by chance, so it is asked four times as many other questions, and the figures of these count.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from saccade.errors import UserError
from saccade.evaluation.statistics import wilson_interval
from saccade.gym.family import GymFamily
from saccade.gym.levels import Levels
from saccade.gym.program import Program, ProgramQuestion
from saccade.gym.registry import gym_families
from saccade.seeding import generator_for

LEVELS = (0.0, 0.5, 1.0)
QUESTIONS, RARE, ABOVE, SURE = 60, 0.02, 0.12, 0.05
AGAIN = 4
"""Times as many questions where a program looks uneven."""


def asked(family: GymFamily, program: Program, level: float, indices: range, seconds: float) -> list[ProgramQuestion]:
    """Questions without pictures; fewer where they take more processor time than so many seconds."""
    found, start = [], time.process_time()
    for index in indices:
        rng = generator_for(47, "priors", family.name, program.name, str(level), index)
        try:
            found.append(family.question(program, family.renderers[0], rng, Levels(base=level))[1])
        except UserError:
            continue
        if time.process_time() - start > seconds:
            break
    return found


def usual(one: ProgramQuestion, known: Sequence[ProgramQuestion]) -> str | None:
    """What is right most often in the known questions, of the options where there are any."""
    right = Counter(other.answer for other in known)
    if not one.choices:
        return right.most_common(1)[0][0] if known else None
    offered = Counter(text for other in known for text in other.choices)
    # By letters first: programs name the right option before the others.
    return max(sorted(one.choices), key=lambda text: (right[text] + 0.5) / (offered[text] + 1.5))


def chance(questions: Sequence[ProgramQuestion]) -> float:
    """The share of right guesses: one of the options, or of the answers that occur, at most a half."""
    right = Counter(one.answer for one in questions)
    occur = sum(min(1.0, count / len(questions) / RARE) for count in right.values())
    return sum(1 / len(one.choices) if one.choices else 1 / max(2.0, occur) for one in questions) / len(questions)


def prior(questions: Sequence[ProgramQuestion]) -> dict[str, Any]:
    """How often the usual answer is right, its interval and chance."""
    halves = ((questions[0::2], questions[1::2]), (questions[1::2], questions[0::2]))
    hits = sum(usual(one, known) == one.answer for rest, known in halves for one in rest)
    low, high = wilson_interval(hits, len(questions))
    by_chance, share = chance(questions), hits / len(questions)
    return {
        "questions": len(questions),
        "share": round(share, 3),
        "interval": [round(low, 3), round(high, 3)],
        "chance": round(by_chance, 3),
        "most": Counter(one.answer for one in questions).most_common(3),
        "above": share > by_chance + ABOVE and low > by_chance + SURE,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="FAMILY[/PROGRAM]")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--seconds", type=float, default=10.0, help="Of processor time, for a program at a level.")
    parser.add_argument("--json", type=Path, required=True, help="Where the figures are added.")
    parser.add_argument("--part", default="now", help="Under which name: now, or before a change.")
    options = parser.parse_args()
    every = json.loads(options.json.read_text(encoding="utf-8")) if options.json.exists() else {}
    found = every.setdefault(options.part, {})
    for name in options.names or sorted(gym_families()):
        family = gym_families()[name.partition("/")[0]]
        for program in [family.program(name.partition("/")[2])] if "/" in name else family.programs:
            for level in LEVELS:
                key, count = f"{family.name}/{program.name} {level:g}", options.questions
                one = prior(asked(family, program, level, range(count), options.seconds))
                if one["above"]:
                    others = range(count, (1 + AGAIN) * count)
                    one = prior(asked(family, program, level, others, AGAIN * options.seconds))
                found[key] = one
                if one["above"]:
                    print(key, one, flush=True)
        options.json.write_text(json.dumps(every, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
