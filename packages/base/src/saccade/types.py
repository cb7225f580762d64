"""The frozen data that travels from question to gradient."""

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from saccade.errors import UserError
from saccade.geometry import Box, Mask, Point

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

AnswerKind = Literal[
    "exact", "choice", "integer", "number", "math", "boxes", "click", "list", "text", "sentence", "judge"
]
"""How an answer is compared with the right one: ``saccade.rewards.answers.kinds``."""
FREE_TEXT: frozenset[AnswerKind] = frozenset(["text", "sentence", "judge"])
"""Kinds that may be worded in many ways, so that a judge can be asked."""

TrajectoryStatus = Literal["answered", "turn_limit", "token_limit", "failed"]
"""``failed`` is the machine's failure: such a trajectory is counted and left out, never scored."""

Work = Literal["looks", "computes", "idle"]
"""Work of a run of code, by ``saccade.tools.code_work``: shows what depends on a picture, shows what it worked out of
numbers, neither."""

WORK = "work"
"""The key of ``ToolResult.data`` under which a tool says so."""

SEEN = "seen"
"""The key of ``ToolResult.data`` under which a tool says what of the question's pictures its result depends on: a list
of ``{"image": index from 0, "box": [x1, y1, x2, y2]}`` in pixels of that picture's original, or of ``{"image": index,
"cells": rows}``, strings of 0 and 1 that divide the picture into a regular grid."""

GAIN = "gain"
"""The key of ``ToolResult.data`` under which stands how much a call's result raised the probability of the right
answer, from -1 to 1 (``saccade.rollout.call_gains``). Programs put it there after the episode; no model sees it."""

Finish = Literal["stop", "eos", "length"]
"""Why the engine stopped: a stop string, the end-of-turn token, the token limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageRef:
    """An image by content: the SHA-256 of its canonical RGB pixels and its size in pixels."""

    hash: str
    width: int
    height: int
    frames: int = 1
    """Frames of a video that its tokens show together; the picture has them one below the other."""
    patch_seconds: float = 0.0
    """Time from patch to patch of such frames, where the positions of tokens tell it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Something that matters for the answer, in pixels of the original of ``Task.images[image_index]``."""

    label: str
    box: Box
    point: Point
    mask: Mask | None = None
    image_index: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class SceneObject:
    """A thing that a drawn picture shows, with all that is true of it: what an exact judge holds texts against."""

    name: str
    """The word or words by which texts call it; no other object of its picture has it."""
    box: Box
    """In pixels of the original of ``Task.images[image_index]``."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """By kind: the values of one kind exclude each other (``place``, ``mark``)."""
    image_index: int = 0
    mask: Mask | None = None
    """Its pixels, where they are not all of its box."""


PAGE_PATTERN = r"(?s)^(.+)#([1-9][0-9]{0,8})\Z"


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """The name of a page: its document and its number there."""

    document: str
    """Path of a PDF below the folder that is indexed, with "/"; or of a subfolder, whose pictures are its pages; or
    of a picture that lies at the top, which is a document of one page."""
    number: int
    """From 1."""

    def __str__(self) -> str:
        return f"{self.document}#{self.number}"

    @staticmethod
    def read(text: str) -> "Page":
        """The page of a text like "reports/a.pdf#3"; UserError unless it is one."""
        match = re.match(PAGE_PATTERN, text)
        if match is None:
            raise UserError(f"{text!r} names no page; write DOCUMENT#NUMBER, with numbers from 1")
        return Page(document=match[1], number=int(match[2]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A question about images with its exact answer."""

    id: str
    """Stable across runs and machines: it keys seeds, archives and resume."""
    family: str
    question: str
    answer: str
    answer_kind: AnswerKind
    images: tuple[ImageRef, ...]
    choices: tuple[str, ...] = ()
    """Options of a multiple-choice question, in the order of the letters A, B, C..."""
    tolerance: float = 0.0
    """Relative tolerance of a ``number`` answer."""
    min_iou: float = 0.5
    """IoU from which on a ``boxes`` answer is right. Its boxes are in pixels of the original of the first image."""
    targets: tuple[Target, ...] = ()
    frame_times_s: tuple[float, ...] = ()
    """For a video: the time of each image, in seconds. Empty for still images."""
    event_s: tuple[float, float] | None = None
    """For a video: start and end of the event that the question is about, in seconds."""
    difficulty: float = 0.5
    source: str = "procedural"
    """Where the question comes from: a family, a file, a published set."""
    metric: str = ""
    """The published set whose metric judges the answer (``saccade.rewards.answers.METRICS``); empty for the rule of
    ``answer_kind``."""
    objects: tuple[SceneObject, ...] = ()
    """Objects of drawn pictures with all attributes, in a video those of each frame; empty where none are known."""
    wordings: Mapping[str, str] = field(default_factory=dict)
    """Wording of the question by protocol name, where it differs from ``question``."""
    accepted: tuple[str, ...] = ()
    """All accepted answers, where there are several: spellings, or one per annotator, repeats included."""
    buckets: tuple[str, ...] = ()
    """Subgroups of its data set that the question belongs to, as in the set's published tables."""
    corpus: str | None = None
    """Name of the document collection that the question is about."""
    document: str | None = None
    """The document that the question is about; None where it may be any of the corpus."""
    gold_pages: tuple[Page, ...] | None = None
    """Pages that hold the answer, each once; empty where there is no answer, None where they are not known."""
    shown_pages: tuple[Page, ...] = ()
    """Page shown by each image, where images are pages."""
    is_interleaved: bool = False
    """Whether the images stand inside the words: ``question`` and ``choices`` have a place for each, ``<image 1>``,
    ``<image 2>``, ..., once and in order (``saccade.interleaving``). They stand before a wording that has none."""

    def lists_options(self, question: str) -> bool:
        """Whether the options are listed with letters below the question in these words.

        Not where its words name them all, unless the answer is a letter that they do not show.
        """
        named = all(re.search(rf"(?<!\w){re.escape(choice)}(?!\w)", question) for choice in self.choices)
        has_text = not {self.answer, *self.accepted}.isdisjoint(self.choices)
        return bool(self.choices) and not (named and (has_text or self.marks_options(question)))

    def marks_options(self, question: str) -> bool:
        """Whether these words show each option's letter themselves, as in ``(A) a cat (B) a dog``."""
        letters = (chr(ord("A") + place) for place in range(len(self.choices)))
        return all(re.search(rf"(?<!\w){re.escape(letter)}[).:．、：）]", question) for letter in letters)

    @property
    def missing_pages(self) -> tuple[Page, ...]:
        """Gold pages that no image shows; without them the images do not hold the answer."""
        return tuple(page for page in self.gold_pages or () if page not in self.shown_pages)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A tool call of the policy. Boxes and points are in pixels of the original of the image they are on."""

    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The policy's final answer, without its tags."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Malformed:
    """A turn that is neither a call nor an answer; ``why`` is shown to the model, with its tags as they are.

    What it quotes of the turn must be defused (``saccade.protocols.markup.defused``).
    """

    why: str


Action = ToolCall | Answer | Malformed


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """Result of a tool: text and images for the model, data for programs."""

    text: str = ""
    images: tuple[ImageRef, ...] = ()
    data: Mapping[str, Json] = field(default_factory=dict)
    is_ok: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """Observation: what the environment shows the model after a turn."""

    text: str
    images: tuple[ImageRef, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class BoxMention:
    """A box that the policy wrote into its reasoning."""

    text: str
    """Text between the tags."""
    box: Box | None
    """As written, also inverted or out of range; None when the text is no box. The protocol gives it in the model's
    frame, a ``Turn`` has it in pixels of the original of the episode's first image, not clipped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PointMention:
    """A point that the policy wrote into its reasoning."""

    text: str
    """The tag as written, cut to 200 characters."""
    label: str
    """Name of the thing it points at: the text between the tags, else ``alt``."""
    point: Point | None
    """As written, also out of range; None when the tag holds none. The protocol gives it in the model's frame, a
    ``Turn`` has it in pixels of the original of the picture that it is on, not clipped."""
    frame: int | None = None
    """The frame of a video that its sentence names, counted from 1."""
    time_s: float | None = None
    """The time that its sentence names, in seconds."""
    image_index: int = 0
    """The picture that its sentence names, counted from 0; a video's frames and times come before it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One turn: the model's thought and action, and the observation after it."""

    index: int
    text: str
    """The model's own text, verbatim."""
    thought: str
    action: Action
    is_well_formed: bool
    """Whether the turn follows the protocol's format exactly."""
    result: ToolResult | None = None
    """The tool's result; None when the turn called nothing or the call was refused before it ran."""
    observation: Observation | None = None
    boxes: tuple[BoxMention, ...] = ()
    """The boxes of its thought, where the protocol asks for them."""
    points: tuple[PointMention, ...] = ()
    """The points of its thought, where the protocol asks for them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionSpan:
    """Tokens of an action that one policy sampled: those from ``start`` to ``end``, by the policy of this version."""

    version: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A run of tokens with one author. The concatenation of the segments of a context is the truth.

    A prompt opens a context. A trajectory has one, unless its environment shows the last observations alone.
    """

    role: Literal["prompt", "action", "observation"]
    turn: int
    ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    """Per-token log-probabilities at the sampling temperature; only for actions, same length as ``ids``."""
    images: tuple[ImageRef, ...] = ()
    """The images whose placeholder tokens lie in this segment, in order."""
    versions: tuple[VersionSpan, ...] = ()
    """Policies that sampled an action of a batch whose weights changed in its midst; they cover its tokens in order.
    Empty where the trajectory's ``policy_version`` sampled all of them."""


@dataclass(frozen=True, slots=True)
class RoutedExperts:
    """Experts that the tokens of a context went to, all but its last; ``str`` gives what ``read`` takes."""

    packed: bytes
    """As ``saccade.models.routing.Experts`` packs them."""

    def __str__(self) -> str:
        return b64encode(self.packed).decode()

    @classmethod
    def read(cls, text: str) -> "RoutedExperts":
        return cls(b64decode(text))


@dataclass(frozen=True, slots=True)
class Term:
    """One named part of a reward; it adds ``weight`` times ``value`` to the total."""

    name: str
    value: float
    weight: float = 1.0
    filled_from: str = field(default="", kw_only=True)
    """Source of a value that was not measured on this trajectory, such as the lowest value of its siblings where the
    judge's machine failed. Empty for a measured value."""
    added_by: str = field(default="", kw_only=True)
    """Source of the term, where it was not the reward: the algorithm's shaping, a KL. Empty for the reward."""

    @property
    def contribution(self) -> float:
        return self.weight * self.value


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A trajectory's reward: named terms that add up to the total.

    ValueError for two terms of one name.
    """

    terms: tuple[Term, ...] = ()
    is_right: bool | None = None
    """Whether the answer is right, independent of all terms; None where the reward does not decide that."""
    notes: Mapping[str, float] = field(default_factory=dict)
    """Figures about the score, for curves and counts; ``total`` does not include them."""
    evidence: Mapping[str, Json] = field(default_factory=dict)
    """Findings behind the score, for records and reports only, such as the scorers chosen and the points hit."""

    def __post_init__(self) -> None:
        names = [term.name for term in self.terms]
        if len(set(names)) < len(names):
            raise ValueError(f"two of the terms {', '.join(names)} have one name; give each term its own")

    @property
    def total(self) -> float:
        """Total that the algorithm sees: the contributions, added in the order of the terms."""
        total = 0.0
        for term in self.terms:
            # Not ``sum``, which rounds differently from Python 3.12 on.
            total += term.contribution
        return total

    @property
    def values(self) -> Mapping[str, float]:
        """Raw values found on this trajectory, by term: values that were filled in are left out."""
        return {term.name: term.value for term in self.terms if not term.filled_from}

    @property
    def accuracy(self) -> float | None:
        """The term ``accuracy``, which may be a share, else 1.0 or 0.0 by ``is_right``; None without either."""
        return self.values.get("accuracy", None if self.is_right is None else float(self.is_right))


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnClock:
    """Seconds of a turn, by the machine's clock."""

    start_s: float
    """When its sampling began, from the beginning of the trajectory."""
    decode_s: float
    """Sampling, and waiting for it among the other trajectories; with the prefill where that is not told apart."""
    tool_s: float
    """Reading the turn, and its call."""
    prefill_s: float | None = None
    """Until the first token was there."""

    @property
    def end_s(self) -> float:
        return self.start_s + (self.prefill_s or 0.0) + self.decode_s + self.tool_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """When the turns of a trajectory happened."""

    turns: tuple[TurnClock, ...] = ()

    @property
    def total_s(self) -> float:
        return self.turns[-1].end_s if self.turns else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """One attempt at a task, with its turns and tokens."""

    task_id: str
    family: str
    stream: str
    sample: int
    """Index inside its group."""
    seed: int
    policy_version: int
    """Version of the weights with which its batch began; see ``token_versions`` for later changes."""
    segments: tuple[Segment, ...]
    turns: tuple[Turn, ...]
    status: TrajectoryStatus
    failure: str = ""
    """The machine's error, for a ``failed`` trajectory."""
    score: Score | None = None
    cut_turns: int = 0
    """Turns that reached their limit of tokens and were corrected, where the rollout's settings let them go on."""
    routed_experts: tuple[RoutedExperts, ...] = field(default=(), compare=False, repr=False)
    """Experts of the tokens of each context, where they are replayed; no record keeps them."""
    clock: Clock | None = field(default=None, compare=False)
    """Times of its turns; they belong neither to its identity nor to its record."""

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(token for segment in self.segments for token in segment.ids)

    @property
    def contexts(self) -> tuple[tuple[Segment, ...], ...]:
        """Segments by context; the model sees one context at a time."""
        starts = [index for index, segment in enumerate(self.segments) if segment.role == "prompt"]
        return tuple(self.segments[start:end] for start, end in zip(starts, [*starts[1:], len(self.segments)]))

    @property
    def action_mask(self) -> tuple[bool, ...]:
        """True where the policy chose the token."""
        return tuple(segment.role == "action" for segment in self.segments for _ in segment.ids)

    @property
    def token_versions(self) -> tuple[int, ...]:
        """For each token that the policy chose, the version of the weights that sampled it."""
        versions: list[int] = []
        for one in self.segments:
            if one.role == "action":
                spans = one.versions or (VersionSpan(version=self.policy_version, start=0, end=len(one.ids)),)
                versions += [span.version for span in spans for _ in range(span.start, span.end)]
        return tuple(versions)

    @property
    def images(self) -> tuple[ImageRef, ...]:
        return tuple(image for segment in self.segments for image in segment.images)

    @property
    def answer(self) -> str | None:
        """The final answer's text, or None when the trajectory ended without one."""
        last = self.turns[-1].action if self.turns else None
        return last.text if isinstance(last, Answer) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Signals:
    """Numbers of a trajectory for each action token, worked out for learning; None where they were not."""

    advantages: tuple[float, ...] | None = None
    entropy: tuple[float, ...] | None = None
    """Of the policy's distribution, in nats."""
    reference_logprobs: tuple[float, ...] | None = None
    teacher_logprobs: tuple[float, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """A task with one trajectory of it."""

    task: Task
    trajectory: Trajectory
    advantages: tuple[float, ...] | None = None
    """Advantage of each turn, where a policy was trained on it; the mean over a turn's tokens where they differ."""
    signals: Signals | None = field(default=None, compare=False)
    """Numbers for each token, which are recorded beside the attempt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryPair:
    """Two trajectories of one prompt, of which one is preferred."""

    task: Task
    chosen: Trajectory
    rejected: Trajectory


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """The trajectories of one task in one stream; rewards are compared inside it and nowhere else."""

    task: Task
    stream: str
    trajectories: tuple[Trajectory, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """Specification of a tool for a model.

    ``parameters`` is a JSON schema of the arguments. Arguments that are coordinates carry ``"format"``: ``box``,
    ``boxes``, ``point`` or ``points``; they are converted between the model's frame and original pixels. An argument
    named ``image`` is the 1-based number of the image meant, in order of appearance.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One chat message; its parts are text and images in reading order."""

    role: Literal["system", "user", "assistant", "tool"]
    parts: tuple[str | ImageRef, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenMessage:
    """A message of a conversation that somebody else has written."""

    role: Literal["system", "user", "assistant", "tool"]
    parts: tuple[str | ImageRef, ...]
    """Text and images in reading order. In what an assistant says, images are results of tools."""
    thought: str = ""
    """An assistant's thought that stands apart from its text; a thought inside the text stays there."""
    calls: tuple[ToolCall, ...] = ()
    """An assistant's calls that stand apart from its text; arguments are as they are written."""
    is_learned: bool = True
    """Whether a model learns to say it; only what an assistant says is ever learned."""

    @property
    def text(self) -> str:
        return "".join(part for part in self.parts if isinstance(part, str))


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenConversation:
    """A conversation to imitate as it is."""

    task: Task
    """The last question, its answer and all images, for records of what a model was trained on."""
    messages: tuple[SpokenMessage, ...]
    """They end with an assistant's, and at least one of those is learned."""
    tools: tuple[Mapping[str, Json], ...] = ()
    """Schemas of the tools that are offered, as chat templates take them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenPair:
    """Two conversations that begin alike, of which one is preferred; only what they part in is learned."""

    chosen: SpokenConversation
    rejected: SpokenConversation


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """Token ids with image placeholders already expanded, and the images they stand for, in order."""

    ids: tuple[int, ...]
    images: tuple[ImageRef, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpertTurn:
    """Thought and action of an expert in one turn, before any protocol writes it down.

    Boxes in the thought, ``<box>[x1,y1,x2,y2]</box>``, are in pixels of the original of the task's first image, points,
    ``<points x1="4" y1="5" alt="cup">cup</points>``, in those of the picture or frame that their sentence names.
    """

    thought: str
    action: ToolCall | Answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A task with the turns of an expert that solves it; arguments are in pixels of the original images."""

    task: Task
    turns: tuple[ExpertTurn, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamExample:
    """An example and the stream in which it is shown."""

    example: Example
    stream: str = "main"


def bare_answer(task: Task) -> Example:
    """The task with an expert that answers at once."""
    return Example(task=task, turns=(ExpertTurn(thought="", action=Answer(text=task.answer)),))
