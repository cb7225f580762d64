"""The drawings of the page on concepts, as SVG: ``python docs/site/drawings.py`` writes ``docs/drawings``.

Each is a card with a ground of its own, light or dark as the reader's system asks, so that it can be read on any page.
"""

from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

_FIRST_LEARNER = ("the loop: sampler, rewards,", "advantages, records;", "its own shard of the weights")
_WORKER = ("plays whole groups:", "engine (local, or vLLM),", "environments, tools, sandbox;", "same share, same bytes")
FOLDER = Path(__file__).parents[1] / "drawings"
_STYLE = """
  .ground { fill: #ffffff; stroke: #c9d1d9 }
  text { font: 14px sans-serif; fill: #1f2328 }
  .small { font-size: 12px; fill: #57606a }
  .head { font-weight: bold }
  .box { stroke: #57606a; fill: #f6f8fa }
  .policy { fill: #d9f2ee; stroke: #0f766e }
  .world { fill: #fff1d6; stroke: #b45309 }
  .paid { fill: #e5e4fb; stroke: #4f46e5 }
  .lost { fill: #fde2e2; stroke: #b91c1c }
  .line { fill: none; stroke: #57606a; stroke-width: 1.6 }
  .dashed { stroke-dasharray: 5 4 }
  .tip { fill: #57606a }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #161b22; stroke: #30363d }
    text { fill: #e6edf3 }
    .small { fill: #9da7b3 }
    .box { fill: #21262d; stroke: #8b949e }
    .policy { fill: #0b3b37; stroke: #2dd4bf }
    .world { fill: #43300d; stroke: #f59e0b }
    .paid { fill: #2b2a5c; stroke: #a5b4fc }
    .lost { fill: #4c1d1d; stroke: #f87171 }
    .line { stroke: #9da7b3 }
    .tip { fill: #9da7b3 }
  }
"""


@dataclass
class Drawing:
    """Shapes of one SVG."""

    title: str
    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def box(self, x: int, y: int, width: int, height: int, head: str, *lines: str, kind: str = "box") -> None:
        """A rectangle with a bold first line, and smaller lines below it, in its middle."""
        self.parts.append(f'<rect class="box {kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>')
        top = y + height / 2 - 8.5 * len(lines) + 5
        self.words(x + width / 2, top, head, kind="head")
        for number, line in enumerate(lines, 1):
            self.words(x + width / 2, top + 17 * number, line, kind="small")

    def words(self, x: float, y: float, text: str, *, kind: str = "small", anchor: str = "middle") -> None:
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>')

    def arrow(self, *points: tuple[int, int], dashed: bool = False) -> None:
        """A line through the points, with a tip at the last."""
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        kind = "line dashed" if dashed else "line"
        self.parts.append(f'<path class="{kind}" d="{path}" marker-end="url(#tip)"/>')

    def written(self) -> str:
        body = "\n  ".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" aria-label="{escape(self.title)}">\n'
            f"  <title>{escape(self.title)}</title>\n  <style>{_STYLE}  </style>\n"
            '  <defs><marker id="tip" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto">'
            '<path class="tip" d="M0 0 L9 4 L0 8 z"/></marker></defs>\n'
            f'  <rect class="ground" x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="10"/>\n'
            f"  {body}\n</svg>\n"
        )


def episode() -> Drawing:
    """One question, two turns, one crop; below it the same as segments of tokens."""
    drawn = Drawing("An episode: a question, a call of the crop tool, the crop, and an answer", 880, 430)
    drawn.box(24, 40, 170, 130, "")
    drawn.words(109, 32, "question and picture", kind="head")
    for x, y, kind in ((40, 58, "policy"), (108, 70, "paid"), (146, 118, "world"), (52, 118, "policy")):
        drawn.parts.append(f'<rect class="box {kind}" x="{x}" y="{y}" width="34" height="34" rx="3"/>')
    drawn.parts.append('<rect class="line dashed" x="138" y="108" width="50" height="54"/>')
    drawn.words(109, 190, "Which mark is on the yellow plate?")
    drawn.box(
        250,
        50,
        190,
        90,
        "turn 1: the policy",
        "<think>Too small to read.</think>",
        "<tool_call>crop …</tool_call>",
        kind="policy",
    )
    drawn.box(
        250, 210, 190, 76, "environment", "parses the turn by its protocol,", "checks the arguments", kind="world"
    )
    drawn.box(480, 210, 150, 76, "tool: crop", "at full resolution,", "with a deadline", kind="world")
    drawn.box(480, 40, 150, 110, "")
    drawn.words(555, 32, "observation: the crop", kind="head")
    drawn.parts.append('<rect class="box world" x="515" y="55" width="80" height="80" rx="5"/>')
    drawn.parts.append('<path class="line" d="M535 75 L575 115 M575 75 L535 115"/>')
    drawn.box(
        676, 50, 180, 90, "turn 2: the policy", "<think>A cross.</think>", "<answer>cross</answer>", kind="policy"
    )
    drawn.box(676, 210, 180, 76, "reward", "reads the model's own turns:", "a Score of named terms", kind="paid")
    drawn.arrow((194, 95), (248, 95))
    drawn.arrow((345, 140), (345, 208))
    drawn.arrow((440, 248), (478, 248))
    drawn.arrow((555, 210), (555, 152))
    drawn.arrow((630, 95), (674, 95))
    drawn.arrow((766, 140), (766, 208))
    drawn.words(24, 326, "the same as segments of tokens", kind="head", anchor="start")
    places = (
        (24, 200, "prompt", "text, picture's patches", "box"),
        (228, 180, "action 1", "sampled: log-probabilities", "policy"),
        (412, 220, "observation 1", "the crop's patches", "world"),
        (636, 220, "action 2", "sampled: log-probabilities", "policy"),
    )
    for x, width, head, line, kind in places:
        drawn.box(x, 338, width, 48, head, line, kind=kind)
    drawn.words(
        440, 410, "Only actions are learned. Observations are appended as they came: no token is encoded twice."
    )
    return drawn


def training() -> Drawing:
    """A step of reinforcement learning, and what it leaves on disk."""
    drawn = Drawing("A training step: rollouts, rewards, advantages, learner, checkpoint", 880, 400)
    drawn.box(24, 40, 150, 84, "task sampler", "which question is next,", "at which difficulty")
    drawn.box(
        220,
        30,
        210,
        104,
        "rollout",
        "a group of G trajectories a question:",
        "engine ⇄ environment ⇄ tools,",
        "all of a batch at the same time",
        kind="policy",
    )
    drawn.box(476, 40, 170, 84, "rewards", "a Score a trajectory,", "or a whole group at once", kind="paid")
    drawn.box(692, 40, 164, 84, "advantages", "within each group:", "(r − mean) / std, …", kind="paid")
    drawn.box(692, 190, 164, 84, "filter and credit", "equal groups, stale or", "broken sequences left out")
    drawn.box(
        476,
        180,
        170,
        104,
        "learner",
        "packs with shared prompts,",
        "loss of action tokens,",
        "one optimiser step",
        kind="policy",
    )
    drawn.box(220, 190, 210, 84, "weights, version n + 1", "to the engine and to", "rollout workers")
    drawn.box(24, 190, 150, 84, "evaluation", "held-out questions by", "the same rollout", kind="world")
    drawn.box(
        24,
        320,
        832,
        56,
        "the run's directory",
        "records of trajectories and metrics; checkpoints with all state, resumed to the same bytes",
    )
    drawn.arrow((174, 82), (218, 82))
    drawn.arrow((430, 82), (474, 82))
    drawn.arrow((646, 82), (690, 82))
    drawn.arrow((774, 124), (774, 188))
    drawn.arrow((692, 232), (648, 232))
    drawn.arrow((476, 232), (432, 232))
    drawn.arrow((325, 190), (325, 136))
    drawn.arrow((220, 232), (176, 232))
    drawn.arrow((561, 284), (561, 318), dashed=True)
    drawn.arrow((99, 274), (99, 318), dashed=True)
    drawn.arrow((561, 124), (561, 150), (99, 150), (99, 126), dashed=True)
    drawn.words(395, 165, "pass rates, for curricula")
    return drawn


def fleet() -> Drawing:
    """Processes of a run that is spread over machines."""
    drawn = Drawing("A fleet: supervisor, learners, rollout workers, tool service and run directory", 880, 430)
    drawn.box(24, 30, 190, 70, "supervisor", "the command that you give;", "starts and restarts the others")
    drawn.box(24, 160, 190, 110, "first learner", *_FIRST_LEARNER, kind="policy")
    for number in range(3):
        drawn.box(24 + 6 * number, 312 + 6 * number, 190, 70, "")
    drawn.box(42, 330, 190, 70, "further learners", "shards of the weights (FSDP2),", "wait for orders", kind="policy")
    for number in range(3):
        drawn.box(440 + 8 * number, 142 + 8 * number, 206, 130, "")
    drawn.box(464, 166, 206, 130, "rollout worker", *_WORKER, kind="world")
    drawn.box(710, 193, 150, 76, "tool service", "detectors, readers, …", "over HTTP, if named", kind="world")
    drawn.box(464, 340, 396, 60, "the run's directory", "written by the first learner alone")
    drawn.arrow((119, 100), (119, 158))
    drawn.arrow((214, 65), (543, 65), (543, 140), dashed=True)
    drawn.words(378, 56, "Ray starts them; a lost one is replaced, within a budget")
    drawn.arrow((214, 180), (438, 180))
    drawn.words(326, 172, "a share of questions, and seeds")
    drawn.arrow((438, 216), (216, 216))
    drawn.words(326, 208, "played trajectories, pictures")
    drawn.arrow((214, 252), (438, 252), dashed=True)
    drawn.words(326, 244, "weights by version")
    drawn.arrow((670, 231), (708, 231))
    drawn.arrow((119, 270), (119, 310))
    drawn.words(128, 295, "all-gather, gradients", anchor="start")
    drawn.arrow((176, 270), (176, 282), (340, 282), (340, 370), (462, 370), dashed=True)
    return drawn


def rewards() -> Drawing:
    """From a finished trajectory to a number that is learned from, with its gates."""
    drawn = Drawing("Rewards with gates: what is scored, what is paid, and what is left out", 880, 450)
    drawn.box(24, 60, 170, 76, "trajectory", "answered, out of turns,", "or failed", kind="policy")
    drawn.box(252, 60, 170, 76, "did a machine fail?", "server, sandbox, judge")
    drawn.box(252, 190, 170, 76, "no score", "left out of groups,", "counted, never 0", kind="lost")
    drawn.box(480, 60, 170, 76, "accuracy", "the answer by its kind;", "a judge where rules say no", kind="paid")
    drawn.box(480, 190, 170, 76, "gate", "is the accuracy at least τ?")
    drawn.box(480, 330, 170, 84, "accuracy alone", "pointing and reasoning", "pay nothing here", kind="lost")
    drawn.box(
        710,
        190,
        146,
        94,
        "parts",
        "grounding of what is",
        "pointed at, reasoning:",
        "those the task selects",
        kind="paid",
    )
    drawn.box(710, 330, 146, 84, "Score", "Σ weight · value;", "is_right, notes", kind="paid")
    drawn.box(252, 330, 170, 84, "group", "compared with its", "siblings: advantages", kind="policy")
    drawn.arrow((194, 98), (250, 98))
    drawn.arrow((422, 98), (478, 98))
    drawn.words(450, 90, "no")
    drawn.arrow((337, 136), (337, 188))
    drawn.words(350, 166, "yes", anchor="start")
    drawn.arrow((565, 136), (565, 188))
    drawn.arrow((650, 228), (708, 228))
    drawn.words(678, 220, "yes")
    drawn.arrow((565, 266), (565, 328))
    drawn.words(578, 302, "no", anchor="start")
    drawn.arrow((783, 284), (783, 328))
    drawn.arrow((650, 372), (708, 372))
    drawn.arrow((783, 414), (783, 432), (337, 432), (337, 416))
    drawn.words(
        440, 34, "Argos' reward (equation 9); the other papers' rewards have the first two steps and gates of their own"
    )
    return drawn


DRAWINGS = {"episode": episode, "training": training, "fleet": fleet, "rewards": rewards}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, draw in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(draw().written(), encoding="utf-8")


if __name__ == "__main__":
    main()
