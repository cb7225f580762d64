"""Lines of code of Saccade's source, without blank lines, comments and docstrings: at one commit or more.

    python benchmarks/lines_of_code.py [REVISION ...]

Lines of what is committed (HEAD by default), by package. Strings that stand alone do not count: docstrings, also those
of settings.
"""

import ast
import io
import re
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter

SOURCE = re.compile(r"(?:packages/(\w+)/)?src/saccade/(\w+)")
"""With the package and the room of a file; older revisions have one package."""
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> int:
    """Lines on which a token of code stands."""
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def counted(revision: str) -> Counter[str]:
    """Lines of code of each package at a revision."""
    packed = subprocess.run(["git", "archive", revision], capture_output=True, check=True).stdout
    lines: Counter[str] = Counter()
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            place = SOURCE.match(member.name) if member.name.endswith(".py") else None
            if place is not None and (file := archive.extractfile(member)) is not None:
                lines[place[1] or place[2]] += code_lines(file.read().decode())
    return lines


def main() -> None:
    """Print a row for each package, a column for each revision, and the totals."""
    revisions = sys.argv[1:] or ["HEAD"]
    counts = [counted(revision) for revision in revisions]
    print(f"{'':<20}", *(f"{revision:>12}" for revision in revisions))
    for package in sorted(set().union(*counts)):
        print(f"{package:<20}", *(f"{count[package]:>12,}" for count in counts))
    print(f"{'total':<20}", *(f"{count.total():>12,}" for count in counts))


if __name__ == "__main__":
    main()
