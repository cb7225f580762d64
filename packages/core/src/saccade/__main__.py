"""``python -m saccade`` is the command ``saccade``."""

from saccade.cli import main

if __name__ == "__main__":
    main()
