"""Benchmarks in words: what is there, what is missing, and how each is asked and read."""

from collections.abc import Sequence

from saccade.evaluation.benchmarks.opening import Readiness
from saccade.evaluation.benchmarks.published_record import published, spread
from saccade.evaluation.pixel_rule import PixelRule
from saccade.types import Json


def benchmark_lines(found: Sequence[Readiness]) -> list[str]:
    """A line for each benchmark, and how many are ready."""
    width = max(len(one.benchmark.name) for one in found)
    lines = [f"{one.benchmark.name:<{width}}  {_size(one)}  {_state(one)}" for one in found]
    return [*lines, "", f"{sum(one.is_ready for one in found)} of {len(found)} are ready."]


def _size(found: Readiness) -> str:
    return f"{found.benchmark.size:>6,}" if found.benchmark.size else "     ?"


def _state(found: Readiness) -> str:
    return f"ready: {found.file}" if found.file else f"put {found.wanted}"


def _pictures(rule: PixelRule) -> str:
    if rule.min_pixels is None and rule.max_pixels is None:
        return f"pictures as they are, {rule.encoding.upper()}"
    low, high = rule.min_pixels or "any", rule.max_pixels or "any"
    return f"pictures of {low} to {high} pixels, {rule.encoding.upper()}"


def benchmark_details(found: Readiness) -> str:
    """Everything about one benchmark that a figure of it needs beside it."""
    one = found.benchmark
    lines = [f"{one.name}: {one.title}, {_size(found).strip()} questions", f"  file      {_state(found)}"]
    lines += [f"  known     {release.file}, md5 {release.md5}" for release in one.layout.releases if release.md5]
    frames = f"; {one.layout.frames} frames of a video (--max-frames)" if one.layout.frames else ""
    lines.append(f"  options   {one.options}; {_pictures(one.pixels)}{frames}")
    for reading in one.readings:
        star = "*" if reading.name == one.headline else " "
        judge = ", asks a judge where its rule does not decide" if reading.judging else ""
        lines.append(f"  reading {star} {reading.name}{judge}{f'; {reading.differs}' if reading.differs else ''}")
    if one.trap:
        lines.append(f"  trap      {one.trap}")
    for model, (low, high, count) in spread(published(one)).items():
        value = f"{low:g}" if low == high else f"{low:g} to {high:g}, {count} figures"
        lines.append(f"  published {model}: {value}")
    return "\n".join(lines)


def readiness_json(found: Readiness) -> Json:
    """For programs."""
    one = found.benchmark
    return {
        "name": one.name,
        "title": one.title,
        "questions": one.size or None,
        "ready": found.is_ready,
        "file": str(found.file) if found.file else None,
        "wanted": found.wanted,
        "origin": one.layout.origin or None,
        "readings": [reading.name for reading in one.readings],
        "headline": one.headline,
        "md5": [release.md5 for release in one.layout.releases if release.md5],
    }
