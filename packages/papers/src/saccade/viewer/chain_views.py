"""Chains of linguistic tools beside their pages: each call with the images that it names, each error with its kind."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.protocols.linguistic_tools import LinguisticToolbox
from saccade.protocols.tool_tags import ChainCall
from saccade.protocols.toolchain import Chain, read_chain
from saccade.rewards.lang2act import is_echo, pages_shown
from saccade.types import Attempt, ImageRef, Turn
from saccade.viewer.pictures import Album
from saccade.viewer.section import Section
from saccade.viewer.templates import page_template
from saccade.viewer.words import readable, visible

MAX_CALLS_SHOWN = 16
MAX_PAGES_OF_A_CALL = 3

_NO_TOOLBOX = LinguisticToolbox(())


@dataclass(frozen=True, kw_only=True, slots=True)
class CallView:
    """A call as it is shown; texts are made visible but not escaped, figures are safe markup."""

    name: str
    args: str
    finding: str
    figures: tuple[str, ...]
    note: str
    """What is to be said of it: pages that do not exist, a finding that only repeats; or nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChainView:
    """A chain as it is shown."""

    error: str
    """Its kind, in words; empty for a valid chain."""
    why: str
    chosen: str
    """``images 1 and 3``: those that the thought chooses; empty where it names none."""
    calls: tuple[CallView, ...]
    calls_left_out: int


def chain_view(turn: Turn, attempt: Attempt, images: Sequence[ImageRef], album: Album) -> ChainView | None:
    """The chain of a trajectory's last turn; None elsewhere, and where no reward has read a chain.

    ``images`` are those that the policy had seen when it wrote the turn. The verdict is the reward's own, as recorded.
    """
    score = attempt.trajectory.score
    if score is None or "chain_error" not in score.evidence or turn is not attempt.trajectory.turns[-1]:
        return None
    # Calls and pages do not depend on the toolbox, only the verdict does.
    chain = read_chain(turn.text, _NO_TOOLBOX, pages_shown(attempt.task, attempt.trajectory))
    shown = chain.calls[:MAX_CALLS_SHOWN]
    return ChainView(
        error=visible(readable(str(score.evidence["chain_error"])), 60),
        why=visible(str(score.evidence.get("chain_why", "")), 300),
        chosen=_chosen_images_text(chain),
        calls=tuple(_call_view(call, attempt, images, album) for call in shown),
        calls_left_out=len(chain.calls) - len(shown),
    )


def _chosen_images_text(chain: Chain) -> str:
    if not chain.chosen:
        return ""
    return f"image{'s' if len(chain.chosen) > 1 else ''} {', '.join(map(str, chain.chosen))}"


def _call_view(call: ChainCall, attempt: Attempt, images: Sequence[ImageRef], album: Album) -> CallView:
    there = [page for page in call.pages if 1 <= page <= len(images)]
    missing = [str(page) for page in call.pages if page not in there]
    notes = [f"there is no image {', '.join(missing)} among {len(images)}"] if missing else []
    if len(there) > MAX_PAGES_OF_A_CALL:
        notes.append(f"{len(there) - MAX_PAGES_OF_A_CALL} more images are not drawn")
    if not call.pages:
        notes.append("names no image")
    if is_echo(call, attempt.task.question):
        notes.append("only says question or arguments again")
    return CallView(
        name=visible(call.name, 64),
        args=visible(call.args, 300),
        finding=visible(call.finding, 600),
        figures=tuple(
            album.figure(images[page - 1], f"image {page}, on which this tool looks")
            for page in there[:MAX_PAGES_OF_A_CALL]
        ),
        note="; ".join(notes),
    )


def _html(turn: Turn, attempt: Attempt, images: Sequence[ImageRef], album: Album) -> str:
    view = chain_view(turn, attempt, images, album)
    return "" if view is None else page_template("chain.html.jinja").render(view=view)


SECTION: Section[None] = Section(read=lambda evidence, _: None, rows=lambda _: {}, turn=_html)
