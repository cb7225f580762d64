"""Points of a reasoning in a report: drawn as hits and misses on their pictures, and said in words."""

from dataclasses import replace
from pathlib import Path

from PIL import Image

from saccade.evaluation.pointing import pointing
from saccade.geometry import Box, Point
from saccade.media.store import MediaStore
from saccade.rewards import score_attempts
from saccade.rewards.argos import ArgosReward, ExactRegions, Verifier
from saccade.types import Answer, Attempt, PointMention, SceneObject, Target, Task, Trajectory, Turn
from saccade.viewer.curves import main_charts
from saccade.viewer.examples import example_view
from saccade.viewer.named_points import named_points
from saccade.viewer.pictures import Album

MEDIA = MediaStore()
IMAGE = MEDIA.add(Image.new("RGB", (100, 50), "red"))
TASK = Task(
    id="t",
    family="plates",
    question="?",
    answer="white",
    answer_kind="exact",
    images=(IMAGE,),
    targets=(Target(label="red plate", box=Box(10, 10, 20, 20), point=Point(15, 15)),),
    objects=(SceneObject(name="red", box=Box(10, 10, 20, 20)), SceneObject(name="sky", box=Box(0, 0, 100, 40))),
)
MENTIONS = (
    PointMention(text="", label="red", point=Point(15, 15)),
    PointMention(text="", label="<b>red</b>", point=Point(90, 40)),
    PointMention(text="", label="sky", point=Point(15, 15)),
    PointMention(text="<points x>", label="red", point=None),
    PointMention(text="", label="red", point=Point(1, 1), image_index=3),
)


def played(*points: PointMention) -> Attempt:
    turn = Turn(index=0, text="", thought="", action=Answer(text="white"), is_well_formed=True, points=points)
    trajectory = Trajectory(
        task_id="t",
        family="plates",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered",
    )
    return Attempt(task=TASK, trajectory=trajectory)


def judged(*points: PointMention) -> Attempt:
    reward = ArgosReward(verifier=Verifier(regions=ExactRegions()), reasoning_weight=0.0)
    [scored] = score_attempts([played(*points)], reward)
    return scored


def test_points_are_hits_and_misses_by_the_verifier() -> None:
    assert [(one.kind, one.fate) for one in named_points(judged(*MENTIONS))] == [
        ("hit", "red, a hit"),
        ("miss", "<b>red</b>, a miss"),
        ("named", "sky, does not count"),
        ("miss", "red, could not be read: <points x>"),
        ("miss", "red, a miss"),
    ]
    assert {one.kind for one in named_points(played(*MENTIONS))} == {"named"}


def test_an_example_shows_them_escaped(tmp_path: Path) -> None:
    Image.new("RGB", (100, 50), "red").save(tmp_path / f"{IMAGE.hash}.png")
    view = example_view(judged(*MENTIONS), Album(directory=tmp_path))
    [figure] = view.figures
    assert figure.count('<circle class="hit"') == 1
    assert figure.count('<circle class="miss"') == 1
    assert figure.count('<circle class="named"') == 1
    assert "<b>" not in figure
    assert view.turns[0].boxes[0] == "point 1: red, a hit"


def test_an_evaluation_says_how_much_is_grounded() -> None:
    attempts = [judged(*MENTIONS[:2]), judged(), judged(MENTIONS[0])]
    found = pointing(attempts)
    assert found is not None
    assert (found.accuracy, found.measured, found.points_mean) == (0.5, 3, 1.0)
    assert (found.targets, found.without_points, found.no_verdict) == (2 / 3, 1 / 3, 0.0)
    said = found.describe().replace("\N{NO-BREAK SPACE}", " ")
    assert said == "1.00 a trajectory, none in 33.3 %, 50 % grounded, 66.7 % of the targets"
    assert pointing([replace(played(), trajectory=replace(played().trajectory, score=None))]) is None


def test_scorers_are_named_and_not_counted_in_an_example(tmp_path: Path) -> None:
    Image.new("RGB", (100, 50), "red").save(tmp_path / f"{IMAGE.hash}.png")
    notes = dict(example_view(judged(*MENTIONS), Album(directory=tmp_path)).notes)
    assert notes["scorers"] == "detector, teacher"
    assert notes["points"] == "5"
    assert not [name for name in notes if name.startswith("scorer,")]


def test_the_verifier_s_metrics_have_charts_of_their_own() -> None:
    names = ("noted/points", "noted/no_teacher", "noted/scorer/detector", "time/regions_known", "time/teacher_s")
    titles = [chart.title for chart in main_charts(dict.fromkeys(names, ((1, 0.5), (2, 0.25))))]
    assert titles == ["Points", "Scorers chosen", "No verdict", "Regions known already", "Time of the scorers"]
