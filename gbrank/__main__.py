"""``python -m gbrank`` is the command ``gbrank``."""

import sys

from gbrank.cli import main

if __name__ == "__main__":
    sys.exit(main())
