"""The process that asks math-verify: a line of JSON ``[gold, answer]`` in, a line ``true``, ``false`` or words out.

It imports nothing of Saccade, bounds its own memory, and may be killed at any time. Words say why there is no verdict.
"""

import json
import resource
import sys


def main() -> None:
    """Answer until the input ends; the first line out says that the library is there."""
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    # Answers are printed alone: whatever the library prints goes to standard error.
    out, sys.stdout = sys.stdout, sys.stderr
    try:
        from math_verify import parse, verify
    except ImportError:
        print(json.dumps("missing"), file=out, flush=True)
        return
    print(json.dumps("ready"), file=out, flush=True)

    def verdict(gold: str, answer: str) -> bool | str:
        # Their own limits are signals, of which the last resort is the process that waits for this one.
        right = parse(f"${gold.strip('$ ')}$", raise_on_error=True)
        if not right:
            return "the right answer is no mathematics"
        said = parse(f"${answer.strip('$ ')}$", raise_on_error=True)
        return bool(verify(right, said, raise_on_error=True)) if said else False

    for line in sys.stdin:
        try:
            found: bool | str = verdict(*json.loads(line))
        except MemoryError:
            found = "it took too much memory"
        except Exception as error:
            found = f"it raised {type(error).__name__}"
        print(json.dumps(found), file=out, flush=True)


if __name__ == "__main__":
    main()
