"""Run the command `ssdgym` as `python -m ssdgym`."""

import sys

from ssdgym.cli import main

if __name__ == "__main__":
    sys.exit(main())
