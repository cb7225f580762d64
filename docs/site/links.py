"""A hook of mkdocs: links to files outside ``docs`` become their paths, since a site has no such pages."""

import re

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([^)#\s]+)\)")


def on_page_markdown(markdown: str, page: object, **_: object) -> str:
    depth = str(getattr(getattr(page, "file", None), "src_uri", "")).count("/")

    def shown(found: re.Match[str]) -> str:
        label, up, path = found.groups()
        if up.count("../") <= depth:
            return found.group(0)
        return label if label.strip("`") == path else f"{label} (`{path}`)"

    return _OUTSIDE.sub(shown, markdown)
