"""Questions on a video by the model's own video tokens: frames joined in patches, each after its time."""

from collections.abc import Sequence
from dataclasses import replace

from saccade.errors import UserError
from saccade.media.joined_frames import joined_frames
from saccade.media.resize import ResizeRule, ViewRule
from saccade.media.store import MediaStore
from saccade.media.video_rule import VideoRule
from saccade.protocols.protocol import ChatProtocol
from saccade.types import ImageRef, Message, Task, ToolSpec


def with_native_video(protocol: ChatProtocol, media: MediaStore) -> ChatProtocol:
    """The protocol whose prompt shows a video of two frames or more as the model's own processor writes one.

    The prompt raises UserError for a model whose family joins no frames.
    """

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        messages = protocol.prompt(task, tools, view)
        if len(task.frame_times_s) < 2:
            return messages
        shown = _video_parts(task, view, media)
        return tuple(_with_video(one, task, shown) if task.images[0] in one.parts else one for one in messages)

    return replace(protocol, prompt=prompt)


def video_rules(view: ViewRule) -> tuple[ResizeRule, VideoRule]:
    """The view, and how its model shows a video; UserError where the family joins no frames."""
    if not isinstance(view, ResizeRule) or view.video is None:
        raise UserError(
            "rollout.native_video=true: this model's family has no video tokens that stand for joined frames, as the "
            "Qwen-VL and GLM-V families have; leave it out, and frames are shown as pictures"
        )
    return view, view.video


def _video_parts(task: Task, view: ViewRule, media: MediaStore) -> tuple[str | ImageRef, ...]:
    resized, rule = video_rules(view)
    times, seconds = task.frame_times_s, rule.patch_seconds(task.frame_times_s)
    opening, closing = rule.around
    parts: list[str | ImageRef] = [opening]
    for place, joined in enumerate(joined_frames(task.images, resized, rule, media)):
        before, after = rule.texts(times[place * rule.frames : (place + 1) * rule.frames])
        parts += [before, replace(joined, patch_seconds=seconds), after]
    return tuple(part for part in (*parts, closing) if part)


def _with_video(message: Message, task: Task, shown: Sequence[str | ImageRef]) -> Message:
    """The message with these parts in place of frames and their times."""
    parts = message.parts
    start = parts.index(task.images[0]) - 1
    end = start + 2 * len(task.images)
    if start < 0 or parts[start + 1 : end : 2] != task.images:
        raise UserError(
            f"the video of {task.id} stands between words; leave out rollout.native_video for such questions"
        )
    return Message(role=message.role, parts=(*parts[:start], *shown, *parts[end:]))
