"""Statements on frames and segments of drawn videos, held against what each frame shows."""

import asyncio

import pytest

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.media import MediaStore
from saccade.miniature.judges import ExactJudge
from saccade.miniature.video_facts import DrawnVideos
from saccade.protocols.points import find_points
from saccade.rewards.argos import ExactRegions, Selection, Verifier
from saccade.rewards.argos.verifier import MeasuredPoints
from saccade.rewards.judges import Reference
from saccade.tasks import generate
from saccade.tasks.drawing import COLOUR_NAMES
from saccade.types import Answer, ImageRef, SceneObject, Task, Trajectory, Turn

JUDGE = DrawnVideos()


def video(*frames: tuple[SceneObject, ...]) -> Task:
    return Task(
        id="v",
        family="video_event",
        question="?",
        answer="1.0",
        answer_kind="number",
        images=tuple(ImageRef(hash=str(index), width=256, height=256) for index in range(len(frames))),
        frame_times_s=tuple(index / 2 for index in range(len(frames))),
        objects=tuple(one for things in frames for one in things),
    )


def thing(frame: int, colour: str, shape: str, place: str = "upper left", **attributes: str) -> SceneObject:
    kinds = {"colour": colour, "shape": shape, "place": place, **attributes}
    return SceneObject(name=f"{colour} {shape}", box=Box(0, 0, 9, 9), attributes=kinds, image_index=frame)


def turning() -> Task:
    """A circle that is red, blue in frames 2 and 3 (from 0), and red again; with a wall."""
    colours = ("red", "red", "blue", "blue", "red")
    wall = [SceneObject(name="wall", box=Box(20, 0, 25, 99), image_index=frame) for frame in range(5)]
    return video(*((thing(frame, colour, "circle"), wall[frame]) for frame, colour in enumerate(colours)))


def visited() -> Task:
    """A green square at the wall in frames 1 and 2, and a star in frames 2 and 3."""
    return video(
        (thing(0, "green", "square", "top left"),),
        (thing(1, "green", "square", "top left", touches="wall"),),
        (thing(2, "green", "square", "upper left", touches="wall"), thing(2, "pink", "star", "lower right")),
        (thing(3, "green", "square", "upper left"), thing(3, "pink", "star", "lower right")),
        (thing(4, "green", "square", "upper left"),),
    )


@pytest.mark.parametrize(
    ("first", "last", "said", "is_true"),
    [
        (2, 2, "In frame 3 the circle is blue.", True),
        (1, 1, "In frame 2 the circle is blue.", False),
        (1, 1, "In frame 2 the circle is not blue.", True),
        (2, 2, "The blue circle is in the upper left.", True),
        (2, 2, "The blue circle is lower right.", False),
        (2, 2, "There is a red circle.", False),
        (2, 2, "There is no red circle, but a blue one.", True),
        (2, 2, "The red circle is blue", False),
        (2, 2, "At 1.00 seconds the red circle turns blue.", True),
        (2, 2, "At 1.00 seconds the circle turns green.", False),
        (1, 1, "The circle turns blue.", False),
        (4, 4, "The circle stops being blue.", True),
        (4, 4, "The circle turns red again.", True),
        (2, 3, "From frame 3 to frame 4 the circle is blue.", True),
        (2, 4, "Between 1.0 and 2.0 seconds the circle is blue.", True),
        (1, 3, "From frame 2 to frame 4 the circle is blue.", False),
        (1, 3, "Between frames 2 and 4 the circle turns blue.", True),
        (3, 4, "Between frames 4 and 5 the circle turns blue.", False),
        (0, 4, "The circle is red at first, then it turns blue.", False),
        (0, 0, "the wall is there", True),
        (0, 0, "the circle touches the wall", False),
        (0, 0, "a star", False),
        (0, 0, "Here I look closely.", False),
        (0, 0, "", False),
    ],
)
def test_statements_on_a_circle_that_turns(first: int, last: int, said: str, is_true: bool) -> None:
    assert JUDGE.is_true(turning(), first, last, said) is is_true


@pytest.mark.parametrize(
    ("first", "last", "said", "is_true"),
    [
        (1, 1, "The green square touches the wall.", True),
        (3, 3, "The green square touches the wall.", False),
        (3, 3, "The square leaves the wall.", True),
        (1, 1, "The square reaches the wall", True),
        (1, 2, "the square is at the wall", True),
        (2, 2, "A pink star appears in the lower right.", True),
        (2, 2, "A star appears, the square is at the wall.", True),
        (2, 2, "A star appears, the square leaves the wall.", False),
        (1, 1, "There is no star and a green square.", True),
        (2, 2, "There is no star and a green square.", False),
        (4, 4, "The star disappears.", True),
        (4, 4, "The star is gone.", True),
        (3, 3, "The star is gone.", False),
        (2, 3, "Two stars are seen.", True),
        (0, 4, "An object appears", False),
    ],
)
def test_statements_on_things_that_come_and_go(first: int, last: int, said: str, is_true: bool) -> None:
    assert JUDGE.is_true(visited(), first, last, said) is is_true


def test_a_change_may_lie_a_little_beside_what_is_said() -> None:
    assert JUDGE.is_true(turning(), 1, 1, "the circle turns blue") is False
    assert DrawnVideos(tolerance_s=0.5).is_true(turning(), 1, 1, "the circle turns blue") is True


def test_events_of_drawn_videos_lie_where_they_are_said_to() -> None:
    media = MediaStore()
    seen: set[str] = set()
    for index in range(40):
        task = generate("video_event", split="train", index=index, seed=0, media=media).task
        assert task.event_s is not None
        first, after = (task.frame_times_s.index(end) for end in task.event_s)
        subject = task.targets[0].label
        colour, shape = subject.split()
        touches = any("touches" in one.attributes for one in task.objects)
        starts = f"the {shape} reaches the wall" if touches else f"the {shape} appears"
        ends = f"the {shape} leaves the wall" if touches else f"the {shape} disappears"
        lasts = f"the {subject} is at the wall" if touches else f"a {subject} is there"
        if not touches and shape in ("circle", "square"):
            starts, ends = f"the {shape} turns {colour}", f"the {shape} stops being {colour}"
        seen.add(starts.split()[2])
        frames = range(len(task.images))
        assert [at for at in frames if JUDGE.is_true(task, at, at, starts)] == [first]
        assert [at for at in frames if JUDGE.is_true(task, at, at, ends)] == [after]
        assert [at for at in frames if JUDGE.is_true(task, at, at, lasts)] == list(range(first, after))
        assert JUDGE.is_true(task, first, after, lasts)
        assert not JUDGE.is_true(task, first - 1, after, lasts)
    assert seen == {"turns", "appears", "reaches"}


def trace(task: Task, thought: str) -> Trajectory:
    turn = Turn(
        index=0,
        text=thought,
        thought=thought,
        action=Answer(text=task.answer),
        is_well_formed=True,
        points=tuple(find_points(thought)),
    )
    return Trajectory(
        task_id=task.id,
        family=task.family,
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered",
    )


def test_a_verifier_of_drawn_videos_needs_no_model() -> None:
    verifier = Verifier(regions=ExactRegions(), video=JUDGE)

    def worth(task: Task, thought: str) -> MeasuredPoints:
        return asyncio.run(verifier.groundings(task, [trace(task, thought)], Selection(("video",))))[0]

    for index in range(12):
        task = generate("video_event", split="train", index=index, seed=0, media=MediaStore()).task
        assert task.event_s is not None
        start, end = task.event_s
        target = task.targets[0]
        frame, (x, y) = target.image_index, (target.point.x, target.point.y)
        pointed = f'In frame {frame + 1} there is a <points x1="{x:g}" y1="{y:g}" alt="it">{target.label}</points>.'
        there = f"At {start:.2f} seconds a {target.label} is there."
        lasts = f"From {start:.2f} seconds to {end:.2f} seconds a {target.label} is there."
        found = worth(task, f"{pointed} {there} {lasts}")
        assert (found.value, found.hits, found.judged, found.no_verdict) == (1.0, (True,), 2, 0)
        other = next(
            name for name in COLOUR_NAMES if name not in {one.attributes.get("colour") for one in task.objects}
        )
        wrong = lasts.replace(target.label.split()[0], other)
        assert worth(task, f"{pointed} {there} {wrong}").value == pytest.approx(2 / 3)
        assert worth(task, pointed.replace(target.label, "wall")).value == 0.0
        assert worth(task, f"I look at frame {frame + 1}.").value == 0.0


def test_a_task_without_known_frames_is_refused() -> None:
    task = generate("plate_mark", split="train", index=0, seed=0, media=MediaStore()).task
    with pytest.raises(UserError, match="does not tell what its frames show"):
        asyncio.run(JUDGE(task, 0, 0, "a circle"))


def test_the_judge_of_pictures_refuses_videos() -> None:
    with pytest.raises(UserError, match="is about a video, whose things change"):
        asyncio.run(ExactJudge()(turning(), Reference(text="the circle", boxes=(), box_reward=0.0), "the circle"))
