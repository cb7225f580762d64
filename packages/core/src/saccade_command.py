"""The command ``saccade``, which says so where a foreign package of that name hides Saccade's own."""

import sys


def main() -> None:
    """Runs the command line; a foreign package ``saccade``, which Python prefers to a namespace, ends it."""
    import saccade

    if place := getattr(saccade, "__file__", None):
        from importlib.metadata import packages_distributions

        foreign = [name for name in packages_distributions().get("saccade", ()) if not name.startswith("saccade-")]
        cure = f"pip uninstall {foreign[0]}" if foreign else "move it elsewhere"
        sys.exit(f"saccade: {place} is a package of somebody else's with the name saccade and hides Saccade; {cure}")
    from saccade.cli import main as run_saccade

    run_saccade()
