"""The model card of a run: what was trained, its figures with intervals, its settings, and a trajectory as a picture.

Texts of models and tasks stand in fenced blocks with invisible characters spelled out, so that none of them becomes
markup; of paths the last part alone is shown.
"""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import yaml

from saccade.media.store import MediaStore
from saccade.rewards.reward import counts_as_right
from saccade.runs.asking import read_asking
from saccade.runs.records import images_of
from saccade.runs.trackers.pictures import tracked_pictures
from saccade.types import Attempt, Json
from saccade.viewer.evidence import Evaluation, Evidence
from saccade.viewer.story import comparisons_of, story
from saccade.viewer.words import percent_text, readable, visible

PICTURE = "trajectory.png"
_TURN_CHARACTERS = 1500
_CODE_CHARACTERS = 20_000
_TURNS = 8
_CACHED = re.compile(r"/models--(?P<owner>[^/]+?)--(?P<name>[^/]+)/snapshots/(?P<commit>[0-9a-f]{7,40})(?:/|$)")

USE_WITH_TOOLS = """\
import asyncio
from pathlib import Path

from PIL import Image
from saccade.cli.machine import existing
from saccade.engines.local import local_engine
from saccade.recipes.serving import served_policy
from saccade.rollout.episodes import RolloutRequest
from saccade.serving.agent import RequestSampling
from saccade.types import Task

policy = served_policy(existing("--model", Path("OWNER/NAME")), local_engine)
picture = policy.media.add(Image.open("picture.png").convert("RGB"))
question = "What does the sign say?"
task = Task(id="mine", family="mine", question=question, answer="", answer_kind="text", images=(picture,))
request = RolloutRequest(task=task, stream="use", sample=0, seed=0)
policy.agent.start()
shown = {"max_reply_tokens": None, "on_turn": lambda turn: print(turn.text, turn.observation)}
played = asyncio.run(policy.agent.play(request, policy.media, RequestSampling(), **shown))
policy.agent.close()
print("Answer:", played.trajectory.answer)
"""
"""The whole loop: each turn is parsed, its call run, and the result shown to the model."""
USE_ALONE = """\
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor

model = AutoModelForImageTextToText.from_pretrained("OWNER/NAME")
processor = AutoProcessor.from_pretrained("OWNER/NAME", use_fast=False)  # Pictures as in training.
messages = [
SYSTEM_LINE    {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What does the sign say?"}]},
]
text = processor.apply_chat_template(messages, add_generation_prompt=True)
picture = Image.open("picture.png").convert("RGB")
inputs = processor(text=[text], images=[picture], return_tensors="pt").to(model.device)
ids = model.generate(**inputs, max_new_tokens=512)[0, inputs["input_ids"].shape[1] :]
print("Turn:", processor.decode(ids, skip_special_tokens=True))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCard:
    """``README.md`` of a repository, and the picture that it shows; None where no trajectory saw any."""

    text: str
    picture: bytes | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rights:
    """What the weights come from, in the words of who pushes them."""

    base: str | None = None
    """The base on the hub of a run that began from a folder."""
    licence: str | None = None
    """By its name on the hub."""

    def describe(self) -> str:
        """The card's sentence on the licence."""
        if self.licence is not None:
            return f"The weights are licensed under {_inline(self.licence)}."
        whose = f"`{self.base}`" if self.base else "the model that the run began from"
        return f"The publisher has named no licence; the terms of {whose} apply to what is made of it."


def model_card(evidence: Evidence, *, repo: str, checkpoint: Path, rights: Rights = Rights()) -> ModelCard:
    """The card of a checkpoint of a run."""
    if rights.base is None:
        inputs = evidence.settings.get("inputs")
        base = hub_base(str(inputs.get("model", ""))) if isinstance(inputs, Mapping) else None
        rights = replace(rights, base=base)
    shown = _example(evidence, checkpoint.name)
    picture = None if shown is None else _picture(evidence, shown)
    parts = [
        f"---\n{yaml.safe_dump(_head(evidence, repo, checkpoint, rights), sort_keys=False, allow_unicode=True)}---\n",
        f"# {_inline(repo.rpartition('/')[2])}\n",
        f"{_inline(evidence.info.title)}. Checkpoint `{checkpoint.name}` of a run of "
        "Saccade, which post-trains vision-language models to think with images.\n",
        *_figures(evidence),
        *([] if shown is None else _trajectory(shown, has_picture=picture is not None)),
        "## Use\n",
        _use(repo, checkpoint),
        f"## Licence\n\n{rights.describe()}\n",
        "## Settings\n",
        f"`config.yaml` has all of them for `saccade train --config`. Seed {evidence.settings.get('seed', '?')}; "
        f"versions: {', '.join(f'{name} {version}' for name, version in sorted(evidence.info.versions.items()))}.\n",
        f"<details><summary>Settings of the recipe</summary>\n\n{_block(_settings(evidence), 'yaml')}\n</details>\n",
    ]
    return ModelCard(text="\n".join(parts), picture=picture)


def hub_base(path: str) -> str | None:
    """The repository whose cached copy a path is, as ``OWNER/NAME``; None for a folder of somebody's own."""
    match = _CACHED.search(path)
    return None if match is None else f"{match['owner']}/{match['name']}"


def short_paths(value: Json) -> Json:
    """The value with absolute paths cut to their last part, and those of the hub's cache to the name there."""
    if isinstance(value, str) and value.startswith(("/", "~")):
        return hub_base(value) or Path(value).name
    if isinstance(value, Mapping):
        return {key: short_paths(one) for key, one in value.items()}
    if isinstance(value, list):
        return [short_paths(one) for one in value]
    return value


def _head(evidence: Evidence, repo: str, checkpoint: Path, rights: Rights) -> dict[str, Json]:
    is_adapter = (checkpoint / "adapter_config.json").is_file()
    results: list[Json] = [
        {
            "task": {"type": "image-text-to-text"},
            "dataset": {"name": readable(one.name), "type": one.name},
            "metrics": [{"type": "accuracy", "value": round(one.summary.overall.accuracy, 4)}],
        }
        for one in evidence.evaluations
        if one.summary.overall.accuracy is not None
    ]
    head: dict[str, Json] = {
        "library_name": "peft" if is_adapter else "transformers",
        "pipeline_tag": "image-text-to-text",
        "tags": ["saccade", "thinking-with-images", "reinforcement-learning"],
    }
    if rights.licence is not None:
        head["license"] = rights.licence
    if rights.base is not None:
        head["base_model"] = rights.base
    if results:
        head["model-index"] = [{"name": repo.rpartition("/")[2], "results": results}]
    return head


def _figures(evidence: Evidence) -> Iterator[str]:
    if not evidence.evaluations:
        return
    yield "## Figures\n"
    yield f"{_inline(story(evidence))}\n"
    lines = ["| evaluation | questions | right | 95 % interval | tool used |", "|---|---|---|---|---|"]
    for one in evidence.evaluations:
        overall = one.summary.overall
        low, high = overall.ci95
        lines.append(
            f"| {_inline(readable(one.name))} | {overall.n} | {percent_text(overall.accuracy)} | "
            f"{percent_text(low)} to {percent_text(high)} | {percent_text(one.summary.tool_rate)} |"
        )
    yield "\n".join(lines) + "\n"
    compared = [
        f"- {_inline(readable(one.after))} minus {_inline(readable(one.before))}, on {one.difference.n} questions of "
        f"both: {100 * one.difference.mean:+.1f} points ({100 * one.difference.ci95[0]:+.1f} to "
        f"{100 * one.difference.ci95[1]:+.1f})"
        for one in comparisons_of(evidence.evaluations)
    ]
    if compared:
        yield "Differences with 95 % bootstrap intervals over questions:\n"
        yield "\n".join(compared) + "\n"


def _example(evidence: Evidence, checkpoint: str) -> Attempt | None:
    """A trajectory of the checkpoint itself: one that is right and saw more than its question's pictures, if there is
    one. None for a checkpoint that was not measured: in the middle of a stage, or with no evaluation after it."""
    attempts = [one for evaluation in _own_evaluations(evidence, checkpoint) for one in evaluation.attempts]
    return max(attempts, key=_worth_showing, default=None)


def _own_evaluations(evidence: Evidence, checkpoint: str) -> list[Evaluation]:
    """The evaluations between the last step of the checkpoint's stage and the next training, the latest first."""
    stage, _, step = checkpoint.rpartition("-")
    steps = [at for series in evidence.curves.get(stage, {}).values() for at, _ in series]
    if not step.isdecimal() or not steps or int(step) != max(steps):
        return []
    order, measured = list(evidence.curves), {one.name: one for one in evidence.evaluations}
    own = takewhile(measured.__contains__, order[order.index(stage) + 1 :])
    return [measured[name] for name in own][::-1]


def _worth_showing(attempt: Attempt) -> tuple[bool, bool, bool]:
    looked = any(turn.observation is not None and turn.observation.images for turn in attempt.trajectory.turns)
    right = attempt.trajectory.score is not None and counts_as_right(attempt.task, attempt.trajectory)
    return right and looked, right, looked


def _picture(evidence: Evidence, attempt: Attempt) -> bytes | None:
    media = MediaStore()
    for image in images_of(attempt):
        file = evidence.paths.media / f"{image.hash}.png"
        if file.is_file():
            media.add_file(file)
    drawn = tracked_pictures([attempt], media, "shown")
    if not drawn:
        return None
    written = io.BytesIO()
    drawn[0].image.save(written, format="PNG")
    return written.getvalue()


def _trajectory(attempt: Attempt, *, has_picture: bool) -> Iterator[str]:
    yield "## A trajectory\n"
    if has_picture:
        yield f"![What the policy saw, in this order: the question's pictures and those that it asked for]({PICTURE})\n"
    yield _block(attempt.task.question)
    for turn in attempt.trajectory.turns[:_TURNS]:
        yield f"The policy, turn {turn.index + 1}:\n"
        yield _block(turn.text)
        if turn.observation is not None and turn.observation.text:
            yield "It was shown:\n"
            yield _block(turn.observation.text)
    is_right = counts_as_right(attempt.task, attempt.trajectory)
    verdict = "not scored" if attempt.trajectory.score is None else "right" if is_right else "wrong"
    yield f"This is {verdict}; the answer is:\n"
    yield _block(str(attempt.task.answer))


def _use(repo: str, checkpoint: Path) -> str:
    asked = (
        f"saccade chat {repo}          # ask it about your own picture\n"
        f"saccade eval --model {repo} --data my.jsonl --out runs/measured"
    )
    asking = read_asking(checkpoint)
    system = None if asking is None or not asking.ways else asking.ways[0].system
    with_tools = f"In Python, with the prompt and the tools of its training:\n\n{_python(USE_WITH_TOOLS, repo)}"
    if (checkpoint / "adapter_config.json").is_file():
        return f"{_block(asked, 'bash')}\n{with_tools}"
    head = "" if system is None else f'    {{"role": "system", "content": [{{"type": "text", "text": {system!r}}}]}},\n'
    alone = _python(USE_ALONE.replace("SYSTEM_LINE", head), repo)
    return (
        f"{_block(asked, 'bash')}\n{with_tools}\nWith transformers alone (and torchvision), its first turn, which may "
        f"be a call of a tool:\n\n{alone}"
    )


def _python(code: str, repo: str) -> str:
    return _block(code.replace("OWNER/NAME", repo), "python")


def _settings(evidence: Evidence) -> str:
    return yaml.safe_dump(short_paths(evidence.settings.get("recipe", {})), sort_keys=False, allow_unicode=True)


def _block(text: str, language: str = "text") -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    shown = visible(text.strip("\n"), _TURN_CHARACTERS if language == "text" else _CODE_CHARACTERS)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    return f"{fence}{language}\n{shown}\n{fence}\n"


def _inline(text: str) -> str:
    """Text of a line, with what markdown and HTML would read escaped."""
    return re.sub(r"([\\`*_{}\[\]<>#|!~$])", r"\\\1", visible(" ".join(text.split()), 400))
