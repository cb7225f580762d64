"""Questions on a video by the model's own video tokens: frames joined in patches, each after its time."""

from collections.abc import Sequence
from dataclasses import replace

from saccade.errors import UserError
from saccade.media.joined_frames import joined_frames
from saccade.media.resize import ResizeRule, ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.protocol import ChatProtocol
from saccade.types import ImageRef, Message, Task, ToolSpec


def with_native_video(protocol: ChatProtocol, media: MediaStore) -> ChatProtocol:
    """The protocol whose prompt shows a video of two frames or more as Qwen3-VL's own processor writes one.

    Each patch is preceded by the mean of its frames' times, ``<0.5 seconds>``. The prompt raises UserError for a model
    whose family joins no frames.
    """

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        messages = protocol.prompt(task, tools, view)
        if len(task.frame_times_s) < 2:
            return messages
        if not isinstance(view, ResizeRule) or view.video_frames < 2:
            raise UserError(
                "rollout.native_video=true: this model's family has no video tokens that stand for joined frames, as "
                "Qwen3-VL has; leave it out, and frames are shown as pictures"
            )
        shown = _video_parts(task, view, media)
        return tuple(_with_video(one, task, shown) if task.images[0] in one.parts else one for one in messages)

    return replace(protocol, prompt=prompt)


def _video_parts(task: Task, view: ResizeRule, media: MediaStore) -> tuple[str | ImageRef, ...]:
    count = view.video_frames
    parts: list[str | ImageRef] = []
    for place, joined in enumerate(joined_frames(task.images, view, media)):
        times = task.frame_times_s[place * count : (place + 1) * count]
        first, last = times[0], times[-1]
        parts += [f"<{(first + last) / 2:.1f} seconds>", joined]
    return tuple(parts)


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
