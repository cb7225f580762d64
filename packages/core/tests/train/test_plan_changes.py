"""A plan changed by one call: tools and protocols in all of its episodes."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from saccade.evaluation.views import Views
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.code import code_protocol
from saccade.protocols.tagged import direct_protocol, tagged_protocol
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import EpisodeSpec, RolloutSettings
from saccade.tasks.curriculum import Shuffled
from saccade.tools.images import crop, zoom
from saccade.tools.tool import tool_from
from saccade.train.plan import Demonstration, Evaluate, Plan, RLStage, SFTStage, Stream
from saccade.train.stage_settings import RLSettings, SFTSettings
from saccade.types import Example, Task

CROP, ZOOM = tool_from(crop), tool_from(zoom)
LOOKING = EpisodeSpec(protocol=tagged_protocol(), tools=(CROP,), rollout=RolloutSettings())
SILENT = EpisodeSpec(protocol=direct_protocol(), rollout=RolloutSettings(), max_turns=1)
TASK = Task(id="t", family="f", question="?", answer="red", answer_kind="exact", images=())


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


def build_model() -> VisionLanguageModel:
    raise AssertionError("nothing is run here")


def shown(index: int, progress: float) -> Demonstration:
    return Demonstration(example=Example(task=TASK, turns=()), episodes=LOOKING if index % 2 else SILENT)


CURVE = Evaluate(name="curve", tasks=lambda: [TASK], episodes=LOOKING, reward=OutcomeReward())
PLAN = Plan(
    title="t",
    settings=Nothing(),
    build_model=build_model,
    stages=(
        SFTStage(name="sft", source=shown, settings=SFTSettings(steps=1, batch_size=2)),
        RLStage(
            name="rl",
            streams=(Stream(name="looking", episodes=LOOKING), Stream(name="silent", episodes=SILENT)),
            questions=lambda: Shuffled([TASK], seed=0),
            reward=OutcomeReward(),
            settings=RLSettings(steps=1),
            evaluation=CURVE,
        ),
        replace(CURVE, name="after", episodes=SILENT, first_pass=LOOKING, views=Views()),
    ),
)


def episodes_of(plan: Plan) -> Sequence[EpisodeSpec]:
    """Imitation, two streams, curve, first pass and second, in this order; each where it is played."""
    imitation, learning, after = plan.stages
    assert isinstance(imitation, SFTStage)
    assert isinstance(learning, RLStage)
    assert isinstance(after, Evaluate)
    assert learning.evaluation is not None
    assert after.first_pass is not None
    return [
        *(one.episodes for one in imitation.demonstrations(0)),
        *(stream.episodes for stream in learning.streams),
        learning.evaluation.episodes,
        after.first_pass,
        after.episodes,
    ]


def test_tools_are_added_wherever_tools_are_offered() -> None:
    resource = nullcontext()
    changed = PLAN.with_tools(ZOOM, resources=[resource])
    assert [one.tools for one in episodes_of(changed)] == [
        *((), (CROP, ZOOM)),
        *((CROP, ZOOM), ()),
        *((CROP, ZOOM), (CROP, ZOOM), ()),
    ]
    assert changed.resources == (resource,)
    assert [one.tools for one in episodes_of(PLAN)] == [(), (CROP,), (CROP,), (), (CROP,), (CROP,), ()]


def test_a_tool_of_the_same_name_takes_its_place() -> None:
    slow = replace(CROP, deadline_s=99.0)
    assert LOOKING.with_tools(ZOOM, slow).tools == (slow, ZOOM)


def test_a_protocol_is_put_where_one_of_its_kind_is() -> None:
    code, brief = code_protocol(), direct_protocol(style="brief")
    changed = PLAN.with_protocol(code).with_protocol(brief)
    assert [one.protocol for one in episodes_of(changed)] == [brief, code, code, brief, code, code, brief]
