"""Answers of a fake hub to single requests: the hub's API as ``huggingface_hub`` asks it."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

from saccade.testing.hub_repos import LFS_ENDINGS, HubRefusalError, HubRepo, HubState
from saccade.types import Json

_KINDS = {"models": "model", "datasets": "dataset", "spaces": "space"}
_REPO = r"(?P<repo>[\w.-]+/[\w.-]+)"
_API = re.compile(rf"/api/(?P<kind>models|datasets|spaces)/{_REPO}(?:/(?P<rest>.*))?")
_FILE = re.compile(rf"/(?:(?P<kind>datasets|spaces)/)?{_REPO}/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
_LFS = re.compile(rf"/(?:(?P<kind>datasets|spaces)/)?{_REPO}\.git/info/lfs/objects/batch")


@dataclass(frozen=True, slots=True)
class HubAnswer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def answer_request(hub: HubState, method: str, target: str, headers: Mapping[str, str], body: bytes) -> HubAnswer:
    """The answer to one request; ``HubRefusalError`` for what the hub refuses."""
    parts = urlsplit(target)
    path, query = unquote(parts.path), parse_qs(parts.query)
    # Revisions may hold slashes, which come quoted.
    quoted = parts.path
    user, may_write = _user(hub, headers.get("Authorization"))
    if path.startswith("/blobs/"):
        return _blob(hub, method, path.removeprefix("/blobs/"), headers, body)
    if path == "/api/whoami-v2":
        if not user:
            raise HubRefusalError(401, "", "Invalid username or password.")
        return _json({"type": "user", "name": user, "orgs": [], "auth": {"type": "access_token"}})
    if path == "/api/validate-yaml":
        return _validate_card(json.loads(body))
    if path == "/api/repos/create":
        return _create_repo(hub, json.loads(body), user, may_write)
    if match := _LFS.fullmatch(path):
        _repo(hub, match["kind"] or "models", match["repo"], user)
        return _json({"transfer": "basic", "objects": [_upload(hub, one) for one in json.loads(body)["objects"]]})
    if match := _FILE.fullmatch(quoted):
        repo = _repo(hub, match["kind"] or "models", match["repo"], user)
        return _resolve_file(hub, repo, unquote(match["revision"]), unquote(match["path"]), headers)
    if match := _API.fullmatch(quoted):
        repo = _repo(hub, match["kind"], match["repo"], user)
        verb, _, rest = (match["rest"] or "").partition("/")
        if method == "GET" and verb in ("", "revision"):
            return _json(_info(match["repo"], repo, unquote(rest) or "main"))
        if method == "GET" and verb in ("tree", "paths-info"):
            revision, _, folder = rest.partition("/")
            return _json(
                _tree(
                    repo, unquote(revision), unquote(folder), is_deep=query.get("recursive", [""])[0].lower() == "true"
                )
            )
        if method == "POST" and verb == "paths-info":
            form = parse_qs(body.decode())
            wanted = form.get("paths") or json.loads(body or b"{}").get("paths", [])
            return _json([one for one in _tree(repo, unquote(rest), "", is_deep=True) if _path_of(one) in wanted])
        if not may_write:
            raise HubRefusalError(403, "", "Forbidden: you must have write access")
        if method == "POST" and verb == "preupload":
            return _json({"files": [_upload_mode(repo, unquote(rest), one) for one in json.loads(body)["files"]]})
        if method == "POST" and verb == "commit":
            return _commit(hub, match["repo"], repo, unquote(rest), body)
        if method == "POST" and verb == "branch":
            repo.branches[unquote(rest)] = repo.branches["main"]
            return _json({})
    raise HubRefusalError(404, "", f"nothing is at {path}")


def _user(hub: HubState, authorization: str | None) -> tuple[str, bool]:
    if not authorization:
        return "", False
    token = authorization.removeprefix("Bearer ")
    if token not in hub.tokens:
        raise HubRefusalError(401, "", "Invalid credentials in Authorization header")
    return hub.tokens[token]


def _repo(hub: HubState, kind: str, name: str, user: str) -> HubRepo:
    repo = hub.repos.get((_KINDS[kind], name))
    if repo is None or (repo.is_private and user != name.partition("/")[0]):
        # The hub does not tell what is private from what is not there.
        raise HubRefusalError(404 if user else 401, "RepoNotFound", "Repository not found")
    return repo


def _create_repo(hub: HubState, asked: dict[str, Json], user: str, may_write: bool) -> HubAnswer:
    if not user:
        raise HubRefusalError(401, "", "Invalid username or password.")
    owner = str(asked.get("organization") or user)
    if owner != user or not may_write:
        raise HubRefusalError(403, "", f'You don\'t have the rights to create a repo under the namespace "{owner}"')
    kind, name = str(asked.get("type") or "model"), f"{owner}/{asked['name']}"
    url = f"{hub.url}/{'' if kind == 'model' else kind + 's/'}{name}"
    if (kind, name) in hub.repos:
        told = json.dumps({"error": "You already created this repo", "url": url, "id": name}).encode()
        return HubAnswer(409, told, {"Content-Type": "application/json"})
    is_private = asked.get("visibility") == "private" or asked.get("private") is True
    hub.repos[kind, name] = HubRepo(is_private=is_private)
    return _json({"url": url, "name": name, "id": name})


def _validate_card(asked: dict[str, Json]) -> HubAnswer:
    head = re.match(r"---\n(.*?)\n---", str(asked["content"]), flags=re.DOTALL)
    try:
        found = yaml.safe_load(head[1]) if head else {}
        told = [] if isinstance(found, dict) else [{"message": "the head is no mapping"}]
    except yaml.YAMLError as error:
        told = [{"message": str(error)}]
    return HubAnswer(400 if told else 200, json.dumps({"errors": told, "warnings": []}).encode())


def _upload_mode(repo: HubRepo, revision: str, asked: dict[str, Json]) -> Json:
    path = str(asked["path"])
    is_large = path.endswith(LFS_ENDINGS) or b"\0" in base64.b64decode(str(asked["sample"]))
    there = repo.commits[repo.at(revision)].get(path)
    oid = None if there is None else _oid(path, there)
    return {"path": path, "uploadMode": "lfs" if is_large else "regular", "shouldIgnore": False, "oid": oid}


def _upload(hub: HubState, asked: dict[str, Json]) -> Json:
    oid, size = str(asked["oid"]), asked["size"]
    there = oid in hub.blobs
    return {
        "oid": oid,
        "size": size,
        **({} if there else {"actions": {"upload": {"href": f"{hub.files_url}/blobs/{oid}"}}}),
    }


def _blob(hub: HubState, method: str, oid: str, headers: Mapping[str, str], body: bytes) -> HubAnswer:
    if method == "PUT":
        if hashlib.sha256(body).hexdigest() != oid:
            raise HubRefusalError(400, "", "the content is another than announced")
        hub.blobs[oid] = body
        return HubAnswer()
    content = hub.content(oid)
    if content is None:
        raise HubRefusalError(404, "EntryNotFound", "no such file")
    return _range_answer(content, headers, {"ETag": f'"{oid}"'})


def _commit(hub: HubState, name: str, repo: HubRepo, branch: str, body: bytes) -> HubAnswer:
    if branch not in repo.branches:
        raise HubRefusalError(404, "RevisionNotFound", f"Invalid rev id: {branch}")
    files, summary = dict(repo.commits[repo.at(branch)]), ""
    for line in body.decode().splitlines():
        item = json.loads(line)
        value, path = item["value"], item["value"].get("path", "")
        if item["key"] == "header":
            summary = value["summary"]
        elif item["key"] == "file":
            files[path] = base64.b64decode(value["content"])
        elif item["key"] == "lfsFile" and value["oid"] in hub.blobs:
            files[path] = hub.blobs[value["oid"]]
        elif item["key"] == "deletedFile" and path in files:
            del files[path]
        elif item["key"] == "deletedFolder":
            files = {one: content for one, content in files.items() if not one.startswith(path.rstrip("/") + "/")}
        else:
            raise HubRefusalError(400, "", f"{item['key']} {path}: its content was never uploaded, or it is not there")
    sha = repo.commit(branch, files, summary)
    return _json({"commitUrl": f"{hub.url}/{name}/commit/{sha}", "commitOid": sha, "success": True})


def _info(name: str, repo: HubRepo, revision: str) -> Json:
    sha = repo.at(revision)
    siblings: list[Json] = [{"rfilename": path} for path in repo.commits[sha]]
    return {"id": name, "modelId": name, "sha": sha, "private": repo.is_private, "tags": [], "siblings": siblings}


def _tree(repo: HubRepo, revision: str, folder: str, *, is_deep: bool) -> list[Json]:
    inside = f"{folder}/" if folder else ""
    found: dict[str, Json] = {}
    for path, content in sorted(repo.commits[repo.at(revision)].items()):
        if not path.startswith(inside):
            continue
        first, slash, _ = path.removeprefix(inside).partition("/")
        if slash and not is_deep:
            found[inside + first] = {"type": "directory", "path": inside + first, "size": 0, "oid": "0" * 40}
            continue
        entry: dict[str, Json] = {"type": "file", "path": path, "size": len(content), "oid": _git_oid(content)}
        if path.endswith(LFS_ENDINGS):
            entry["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        found[path] = entry
    return list(found.values())


def _path_of(entry: Json) -> Json:
    return entry["path"] if isinstance(entry, dict) else None


def _resolve_file(hub: HubState, repo: HubRepo, revision: str, path: str, headers: Mapping[str, str]) -> HubAnswer:
    sha = repo.at(revision)
    content = repo.commits[sha].get(path)
    if content is None:
        raise HubRefusalError(404, "EntryNotFound", "Entry not found")
    said = {"X-Repo-Commit": sha, "ETag": f'"{_oid(path, content)}"'}
    if path.endswith(LFS_ENDINGS):
        oid = hashlib.sha256(content).hexdigest()
        linked = {"X-Linked-Size": str(len(content)), "X-Linked-ETag": f'"{oid}"'}
        return HubAnswer(302, b"", {**said, **linked, "Location": f"{hub.files_url}/blobs/{oid}"})
    return _range_answer(content, headers, said)


def _range_answer(content: bytes, headers: Mapping[str, str], said: Mapping[str, str]) -> HubAnswer:
    match = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("Range", ""))
    if not match:
        return HubAnswer(200, content, {**said, "Accept-Ranges": "bytes"})
    start, end = int(match[1]), min(int(match[2] or len(content) - 1), len(content) - 1)
    return HubAnswer(206, content[start : end + 1], {**said, "Content-Range": f"bytes {start}-{end}/{len(content)}"})


def _oid(path: str, content: bytes) -> str:
    return hashlib.sha256(content).hexdigest() if path.endswith(LFS_ENDINGS) else _git_oid(content)


def _git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _json(value: Json) -> HubAnswer:
    return HubAnswer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})
