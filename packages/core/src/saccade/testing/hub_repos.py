"""What a fake hub holds: repositories with commits and branches, tokens, large files; and its errors."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

LFS_ENDINGS = (".safetensors", ".bin", ".pt", ".png", ".jpg", ".webp", ".parquet", ".arrow")
"""Endings of files that the hub keeps as large ones."""


class HubRefusalError(Exception):
    """An answer of the hub that is an error; ``code`` is its header ``X-Error-Code``."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(slots=True)
class HubRepo:
    """A repository: commits as whole trees of files, and branches that point at them."""

    is_private: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"0" * 40: {}})
    branches: dict[str, str] = field(default_factory=lambda: {"main": "0" * 40})
    messages: list[str] = field(default_factory=list)

    def commit(self, branch: str, files: Mapping[str, bytes], message: str) -> str:
        digests = [f"{path}:{hashlib.sha1(content).hexdigest()}" for path, content in sorted(files.items())]
        sha = hashlib.sha1("\n".join([message, str(len(self.messages)), *digests]).encode()).hexdigest()
        self.commits[sha] = dict(files)
        self.branches[branch] = sha
        self.messages.append(message)
        return sha

    def at(self, revision: str) -> str:
        """The commit of a branch or of a beginning of its number."""
        if revision in self.branches:
            return self.branches[revision]
        for sha in self.commits:
            if len(revision) >= 7 and sha.startswith(revision):
                return sha
        raise HubRefusalError(404, "RevisionNotFound", f"Invalid rev id: {revision}")


@dataclass(slots=True)
class HubState:
    """Everything that a hub answers from."""

    tokens: dict[str, tuple[str, bool]]
    """Those that it knows: the user's name, and may it write."""
    url: str = ""
    files_url: str = ""
    """Where large files are: another host, as the hub's, to which clients do not send their token."""
    repos: dict[tuple[str, str], HubRepo] = field(default_factory=dict)
    """By kind (model, dataset, space) and name."""
    blobs: dict[str, bytes] = field(default_factory=dict)
    """Large files by SHA-256, as they were uploaded."""

    def add(self, kind: str, name: str, files: Mapping[str, bytes], *, is_private: bool = False) -> HubRepo:
        """A repository with one commit of files."""
        repo = self.repos[kind, name] = HubRepo(is_private=is_private)
        repo.commit("main", files, "first")
        return repo

    def files(self, kind: str, name: str, revision: str = "main") -> dict[str, bytes]:
        repo = self.repos[kind, name]
        return repo.commits[repo.at(revision)]

    def content(self, oid: str) -> bytes | None:
        """A large file by its SHA-256, uploaded or in a repository."""
        if oid in self.blobs:
            return self.blobs[oid]
        trees = (tree for repo in self.repos.values() for tree in repo.commits.values())
        stored = (one for tree in trees for one in tree.values())
        return next((one for one in stored if hashlib.sha256(one).hexdigest() == oid), None)
