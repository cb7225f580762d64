"""Artefacts that a run works out between its stages: made once, gone by later, read back, made anew after a kill."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from dying_run import Killed
from test_run_stages import LOOKING, RL, SFT, Witness, files, token_reward

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols.tagged import tagged_protocol
from saccade.train.artefacts import Derive, DeriveContext, Derived, NotDerivedError
from saccade.train.plan import Evaluate, Plan, SFTStage, Stage
from saccade.types import Json, Message, Task, ToolSpec

WORDS = tagged_protocol(style="brief")


def words_of(value: Json) -> tuple[str, ...]:
    if not isinstance(value, Mapping) or not isinstance(value.get("words"), list):
        raise UserError("it has no words")
    return tuple(map(str, value["words"]))


@dataclass
class Deriving:
    """A run that takes words from an evaluation and shows them to the model afterwards."""

    witness: Witness = field(default_factory=Witness)
    words: Derived[tuple[str, ...]] = field(default_factory=lambda: Derived("words", words_of))
    dies: bool = False
    """Whether the process ends while it derives, after its journal was written."""
    made: int = 0
    found: list[str] = field(default_factory=list)
    """What an earlier process had left in the journal's folder."""

    def derive(self, context: DeriveContext) -> Mapping[str, Json]:
        self.made += 1
        self.found += [file.name for file in context.work.iterdir()]
        attempts = list(context.attempts("after_sft"))
        assert all(context.media.get(image).width for one in attempts for image in one.task.images)
        (context.work / "journal").write_text("begun")
        if self.dies:
            raise Killed
        return {"words": [f"{one.task.id}: {len(one.trajectory.ids)}" for one in attempts]}

    def prompt(self, task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        messages = WORDS.prompt(task, tools, view)
        return (*messages, Message(role="user", parts=(" ".join(self.words()),)))

    def plan(self) -> Plan:
        told = replace(LOOKING, protocol=replace(WORDS, prompt=self.prompt))
        second = replace(self.witness.reinforcement(), evaluation=None, settings=replace(RL, evaluate_every=0))
        streams = tuple(replace(one, episodes=told) for one in second.streams)
        after = replace(self.witness.evaluation("after_rl"), episodes=told)
        return self.witness.plan_of(
            SFTStage(name="sft", source=self.witness.demonstration, settings=SFT),
            self.witness.evaluation("after_sft"),
            Derive(name="words", derive=self.derive, into=self.words, source="after_sft"),
            replace(second, streams=streams),
            after,
        )

    def run(self, out: Path, *, resume: bool = False) -> None:
        self.witness.run(out, self.plan(), resume=resume)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    deriving = Deriving()
    deriving.run(out)
    assert deriving.made == 1
    assert len(deriving.words()) == 3
    return out


def test_the_artefact_is_on_disk_and_in_how_later_checkpoints_ask(undisturbed: Path) -> None:
    words = json.loads((undisturbed / "derived" / "words.json").read_text())["words"]
    assert len(words) == 3
    checkpoint = max((undisturbed / "checkpoints").glob("rl-*"))
    record = json.loads((checkpoint / "saccade_asking.json").read_text())
    assert record["evaluated"][0]["protocol"] == "tagged"
    assert json.loads((undisturbed / "settings.json").read_text())["stages"]["words"]["kind"] == "derive"


def test_a_process_that_dies_while_it_derives_loses_nothing(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(Killed):
        Deriving(dies=True).run(out)
    assert not (out / "derived" / "words.json").exists()
    again = Deriving()
    again.run(out, resume=True)
    assert again.found == ["journal"]
    assert files(out) == files(undisturbed)
    assert (out / "derived" / "words.json").read_bytes() == (undisturbed / "derived" / "words.json").read_bytes()


def test_a_run_that_dies_later_reads_the_artefact_back(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(Killed):
        Deriving(Witness(die_at=2)).run(out)
    again = Deriving()
    again.run(out, resume=True)
    assert again.made == 0
    assert files(out) == files(undisturbed)


def test_what_is_not_there_yet_and_what_cannot_be_used_are_told() -> None:
    words = Derived("words", words_of)
    with pytest.raises(NotDerivedError, match="stage 'words' is used before the stage has run"):
        words()
    with pytest.raises(UserError, match="artefact of the stage 'words' cannot be used: it has no words"):
        words.take({"word": []})


def test_a_plan_names_where_the_artefact_comes_from_and_goes_to(tmp_path: Path) -> None:
    deriving = Deriving()
    stage = Derive(name="words", derive=deriving.derive, into=deriving.words, source="after_sft")

    def refused(*stages: Stage) -> str:
        with pytest.raises(UserError) as error:
            deriving.witness.plan_of(*stages).check()
        return str(error.value)

    measured: Evaluate = deriving.witness.evaluation("after_sft")
    assert "is no earlier stage; there are none" in refused(stage, measured)
    assert "there are after_sft" in refused(measured, replace(stage, source="sft"))
    assert "give both the same name" in refused(measured, replace(stage, name="names"))
    assert token_reward is measured.reward
