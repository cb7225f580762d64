"""A run of Lang2Act whose curator misbehaves, and is killed while it curates: what the toolbox says, and its bytes.

    python benchmarks/lang2act_curators.py [--kills 10] [--json FILE]

A tiny model is taught on drawn pages by ``lang2act:tiny``; then ``saccade train lang2act`` goes on from it, on
questions about such pages, curated by a server on loopback. The server names steps well, or rambles in every third
reply, invents tools (new ones each time, and some that it never defines), or is down for half of its calls. Each run is
made once undisturbed, and the last also with kill -9 of its process group and ``--resume`` after each, half of the
kills at random moments and half while it curates; all files are compared as in ``kills.py``. Exit status 1 when any
byte differs.
"""

import argparse
import hashlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

from kills import contents, started

from saccade.atomic import write_text_atomic
from saccade.curation.rows import question_row
from saccade.media import MediaStore
from saccade.miniature.pages import PageQuestions
from saccade.miniature.reading import TOOLS, sentence_calls
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply

QUESTIONS = 40
TAUGHT = "sft.steps=400 sft.batch_size=16 kinds=mark action_rl.steps=0 curates=false documents=40 rl_documents=10"
LEARNED = (
    "action_rl.steps=1 action_rl.tasks_per_step=4 action_rl.minibatches=1 tool_rl.steps=1 tool_rl.tasks_per_step=4 "
    "tool_rl.minibatches=1 tool_rl.algorithm.max_refills=1 action_rl.algorithm.max_refills=1 samples=4 curation.k=3 "
    "rollout.max_turn_tokens=120 rollout.max_tokens=640 server.retries=0 model.device=cpu held_out_share=0.1"
)

Behaviour = Callable[[str, int], Served | None]
"""A bad reply to a request, given what is asked and a number drawn from it; None for a good one."""


def rambles(asked: str, drawn: int) -> Served | None:
    return chat_reply("and so on, " * 3000) if drawn % 3 == 0 else None


def invents(asked: str, drawn: int) -> Served | None:
    new = "".join(f"DEFINE_TOOL: way_{drawn + one} || Image k || A way.\n" for one in range(12))
    used = "".join(f'<tool name="way_{drawn + one}" args="Image 1">x</tool>\n' for one in range(12))
    return chat_reply(f'{new}{used}<tool name="never_defined" args="">x</tool>\nEND_OF_TOOLS')


def is_down(asked: str, drawn: int) -> Served | None:
    return Served(body="oops", status=503) if drawn % 2 else None


BEHAVIOURS: Mapping[str, Behaviour] = {
    "names steps well": lambda asked, drawn: None,
    "rambles in a third": rambles,
    "invents": invents,
    "down for half": is_down,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="Chooses the moments.")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    told: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        rows = exported(folder / "pages")
        taught = ["train", "lang2act:tiny", "--threads", "1", *settings(TAUGHT)]
        if started(taught, folder / "taught").wait() != 0:
            sys.exit("the model is not taught")
        [model] = (folder / "taught" / "checkpoints").glob("sft-000400")
        for name, behaviour in BEHAVIOURS.items():
            with ChatServer(curator(behaviour)) as server:
                words = ["train", "lang2act", "--model", str(model), "--data", str(rows), "--threads", "1"]
                asked = [*settings(LEARNED), "--set", f"curator.at={server.url}", "--set", "curator.model=m"]
                calm = folder / name.replace(" ", "_") / "run"
                start = time.monotonic()
                if started([*words, *asked], calm).wait() != 0:
                    sys.exit(f"the run of the curator that {name} fails")
                wall_s = time.monotonic() - start
                told[name] = {**box_of(calm), "requests": len(server.received)}
                if name == list(BEHAVIOURS)[-1]:
                    told["killed"] = disturbed([*words, *asked], calm, folder, wall_s, server, arguments)
                print(json.dumps({name: told[name]}), flush=True)
    print(json.dumps(told, indent=1))
    if arguments.json:
        head = {"command": f"python benchmarks/lang2act_curators.py {' '.join(sys.argv[1:])}".strip()}
        arguments.json.write_text(json.dumps({**head, "date": date.today().isoformat(), **told}, indent=1) + "\n")
    killed = told["killed"]
    sys.exit(1 if isinstance(killed, Mapping) and killed["different"] else 0)


def settings(text: str) -> list[str]:
    return [word for one in text.split() for word in ("--set", one)]


def exported(folder: Path) -> Path:
    """Questions on drawn pages as a file of rows, with the pages beside it."""
    media = MediaStore()
    questions = PageQuestions(seed=3, media=media, documents=10, kinds=("mark",))
    lines = []
    for number in range(QUESTIONS):
        task = questions.asked("validation", number).task
        pictures = [media.export(image, folder / "images") for image in task.images]
        lines.append(json.dumps(question_row(task, [f"images/{one.name}" for one in pictures])) + "\n")
    write_text_atomic(folder / "questions.jsonl", "".join(lines))
    return folder / "questions.jsonl"


def curator(behaviour: Behaviour) -> Callable[[Received], Served]:
    """A server whose reply is a function of what is asked, and of how often: the second time it is drawn anew."""
    lock = threading.Lock()

    def reply(received: Received) -> Served:
        messages = received.body["messages"]
        assert isinstance(messages, list)
        asked = str(messages[1]["content"] if isinstance(messages[1], Mapping) else "")
        with lock:
            time.sleep(0.3)
        drawn = int(hashlib.sha256(f"{asked}{received.body.get('seed')}".encode()).hexdigest(), 16) % 1_000_000
        return behaviour(asked, drawn) or chat_reply(named(asked))

    return reply


def named(asked: str) -> str:
    """The steps of a trajectory as the miniature's rules name them, in the paper's grammar."""
    pool, _, quoted = asked.partition("The reasoning:")
    calls = sentence_calls(re.sub(r"(?m)^\s*\|\s?|\\n\|", " ", quoted))
    new = dict.fromkeys(call.name for call in calls if f"{call.name} ||" not in pool)
    lines = [f"DEFINE_TOOL: {name} || {TOOLS[name].args} || {TOOLS[name].description}" for name in new]
    lines += [f'<tool name="{call.name}" args="{call.args}">{call.finding}</tool>' for call in calls]
    return "\n".join([*lines, "END_OF_TOOLS"])


def box_of(run: Path) -> dict[str, object]:
    made = json.loads((run / "derived" / "tools.json").read_bytes())
    kept = ("trajectories", "read", "cut_off", "no_reply", "asked", "refused", "rests_on", "coverage")
    curation = made["curation"]
    box = {"box": [tool["name"] for tool in made["tools"]], "pool": len(curation["pool"])}
    return {**box, **{name: curation[name] for name in kept}}


def disturbed(
    words: list[str], calm: Path, folder: Path, wall_s: float, server: ChatServer, arguments: argparse.Namespace
) -> dict[str, object]:
    """The same run, killed every other time at a random moment and else as soon as its curation has gone on."""
    out, before = folder / "killed" / "run", len(server.received)
    chance = random.Random(arguments.seed)
    kills = in_curation = 0
    while kills < arguments.kills:
        process = started(words, out, *(["--resume"] if (out / "run.json").is_file() else []))
        is_aimed = kills % 2 == 1
        until = time.monotonic() + (wall_s if is_aimed else chance.uniform(0.5, wall_s / 2))
        known = curated_lines(out)
        while process.poll() is None and time.monotonic() < until and not (is_aimed and curated_lines(out) > known):
            time.sleep(0.02)
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        in_curation += curated_lines(out) > 0 and not (out / "derived" / "tools.json").exists()
    if started(words, out, "--resume").wait() != 0:
        sys.exit(f"the run fails after {kills} kills")
    ours, theirs = contents(calm), contents(out)
    return {
        "kills": kills,
        "while_curating": in_curation,
        "undisturbed_s": round(wall_s, 1),
        "requests": len(server.received) - before,
        "files": len(ours),
        "different": sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)),
    }


def curated_lines(run: Path) -> int:
    """Trajectories in the journal of the curation."""
    journal = run / "derived" / "tools.work" / "outcomes.jsonl"
    return journal.read_bytes().count(b"\n") if journal.is_file() else 0


if __name__ == "__main__":
    main()
