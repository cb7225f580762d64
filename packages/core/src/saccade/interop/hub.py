"""Repositories of a Hugging Face hub: checkpoints and data sets fetched by name, files published in one commit.

Everything goes through ``huggingface_hub``: its cache, its token (``HF_TOKEN`` or ``hf auth login``), its variables
(``HF_ENDPOINT``, ``HF_HOME``, ``HF_HUB_OFFLINE``). A fetch that was cut off or killed goes on with the files that it
lacks; of a push that was killed nothing is seen, and what it had uploaded is not sent again.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from saccade.errors import MachineError, SaccadeError, UserError
from saccade.tasks.sources import HUB_PREFIX
from saccade.tasks.splits import task_files

Kind = Literal["model", "dataset"]
Given = TypeVar("Given")

NOT_LOADED = ("*.bin", "*.pt", "*.pth", "*.gguf", "*.h5", "*.msgpack", "*.onnx", "onnx/*", "original/*", "trainer/*")
"""Files of a model's repository that are left there: weights in forms that are not read here."""

CONFIGURATION = ("config.json", "adapter_config.json", "preprocessor_config.json", "processor_config.json")
"""Small files of a model's repository that say what it is."""

_NAME = re.compile(
    r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[\w][\w./-]*))?(?::(?P<split>\w[\w.-]*))?"
)


@dataclass(frozen=True, slots=True)
class HubName:
    """``OWNER/NAME[@REVISION][:SPLIT]``."""

    repo: str
    revision: str | None = None
    split: str | None = None

    def __str__(self) -> str:
        return f"{self.repo}{f'@{self.revision}' if self.revision else ''}{f':{self.split}' if self.split else ''}"


def hub_name(text: str) -> HubName | None:
    """The name on a hub that a text is, with or without ``hf:`` before it; None where it is none."""
    match = _NAME.fullmatch(text.removeprefix(HUB_PREFIX))
    return None if match is None else HubName(match["repo"], match["revision"], match["split"])


def fetch_repository(name: HubName, kind: Kind, *, only: Sequence[str] | None = None) -> Path:
    """The folder in the hub's cache that holds a repository at one commit; files that are there are not fetched again.

    Of files by ``only`` these names alone are fetched. ``UserError`` where there is no such repository or revision, or
    it may not be read; ``MachineError`` where the hub cannot be reached and the cache lacks it.
    """
    from huggingface_hub import snapshot_download

    wanted = None if only is None else list(only)
    ignored = list(NOT_LOADED) if kind == "model" else None
    return Path(
        _call_hub(
            lambda: snapshot_download(
                name.repo, repo_type=kind, revision=name.revision, allow_patterns=wanted, ignore_patterns=ignored
            ),
            name,
            kind,
        )
    )


def fetched_data(name: HubName) -> Path:
    """Where the tasks of a data set's repository are, as ``read_tasks`` takes it.

    The folder itself where task files lie at its top; with a split, or where they lie deeper, the same by the rules of
    the ``datasets`` library (``hf:FOLDER[:SPLIT]``).
    """
    folder = fetch_repository(name, "dataset")
    if name.split is None and task_files(folder):
        return folder
    return Path(f"{HUB_PREFIX}{folder}{f':{name.split}' if name.split else ''}")


def publish(
    repo: str, files: Mapping[str, Path | bytes], *, message: str, branch: str | None = None, is_private: bool = False
) -> str:
    """Puts files into a model's repository in one commit, and makes it where it is not there; the commit's address.

    ``UserError`` without a token, with one that may not write there, or for a branch that is not there.
    """
    from huggingface_hub import CommitOperationAdd, HfApi, get_token

    name = hub_name(repo)
    if name is None or name.split is not None or name.revision is not None or repo.startswith(HUB_PREFIX):
        raise UserError(f"{repo!r} is no name of a repository; give OWNER/NAME, as my-name/my-model")
    if get_token() is None:
        raise UserError(
            "pushing needs a token that may write: set HF_TOKEN, or run `hf auth login` (tokens are made on the hub's "
            "page of settings)"
        )
    api = HfApi()
    _call_hub(lambda: api.create_repo(repo, private=is_private or None, exist_ok=True), name, "model", writes=True)
    added = [
        CommitOperationAdd(path_in_repo=path, path_or_fileobj=content if isinstance(content, bytes) else str(content))
        for path, content in files.items()
    ]
    with_branch = HubName(name.repo, branch)
    done = _call_hub(
        lambda: api.create_commit(repo, added, commit_message=message, revision=branch),
        with_branch,
        "model",
        writes=True,
    )
    return str(done.commit_url)


def _call_hub(call: Callable[[], Given], name: HubName, kind: Kind, *, writes: bool = False) -> Given:
    """A call to the hub, and its errors in words."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return call()
    except (HfHubHTTPError, LocalEntryNotFoundError, HFValidationError, httpx2.HTTPError, OSError) as error:
        raise _hub_error(error, name, kind, writes=writes) from error


def _hub_error(error: Exception, name: HubName, kind: Kind, *, writes: bool) -> SaccadeError:
    from huggingface_hub import constants, get_token
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    hub, what = constants.ENDPOINT, f"the {'data set' if kind == 'dataset' else kind} {name.repo}"
    status = error.response.status_code if isinstance(error, HfHubHTTPError) else None
    has_token = get_token() is not None
    if isinstance(error, OfflineModeIsEnabled):
        return UserError(f"HF_HUB_OFFLINE is set, so {hub} is not asked for {what}; unset the variable")
    if isinstance(error, HFValidationError):
        return UserError(f"{name} is no name on a hub: {error}")
    if isinstance(error, GatedRepoError):
        return UserError(
            f"{what} is gated: accept its terms at {hub}/{name.repo}, then set HF_TOKEN to a token of yours"
        )
    if isinstance(error, RevisionNotFoundError):
        return UserError(
            f"{what} has no branch, tag or commit {name.revision!r} on {hub}"
            + ("; make the branch there first, or leave --branch out" if writes else "")
        )
    if _has_bad_token(error):
        return UserError(f"{hub} refuses the token (HF_TOKEN, or that of `hf auth login`): it is wrong or has expired")
    if isinstance(error, RepositoryNotFoundError):
        private = "it is private and your token may not read it" if has_token else "it is private: set HF_TOKEN"
        return UserError(f"there is no {what.removeprefix('the ')} on {hub}, or {private}")
    if status in (401, 403):
        return UserError(f"{hub} does not let this token write to {name.repo}: it needs the right to write there")
    if isinstance(error, LocalEntryNotFoundError):
        return MachineError(_out_of_reach(what, hub))
    if status is not None:
        return MachineError(f"{hub} answered {status} when asked about {what}: {error}")
    return MachineError(
        f"{what}: the connection to {hub} failed ({type(error).__name__}: {error}); try again: "
        "transferred files are kept"
    )


def _has_bad_token(error: BaseException | None) -> bool:
    while error is not None:
        if "Invalid credentials in Authorization header" in str(error) or "Invalid user token" in str(error):
            return True
        error = error.__cause__
    return False


def _out_of_reach(what: str, hub: str) -> str:
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return f"{what} is not in the cache ({constants.HF_HUB_CACHE}) and HF_HUB_OFFLINE is set; fetch it once without"
    return (
        f"{hub} cannot be reached and the cache ({constants.HF_HUB_CACHE}) does not hold all of {what}; try again with "
        "a connection, or give a folder"
    )
