"""Count the lines that cannot be read."""

from __future__ import annotations

from pathlib import Path

from ssdgym.errors import SsdgymError


class BadLines:
    """Count of the bad lines of a file, with an error when there are too many.

    Attributes:
        count: bad lines left out so far.
        unit: what they are called: line, or record in a binary file.
    """

    def __init__(self, path: Path, allowed: int, unit: str = "line") -> None:
        """Start with no bad line.

        Args:
            path: the file.
            allowed: how many bad lines are left out before giving up.
            unit: what they are called.
        """
        self._path = path
        self.count = 0
        self._allowed = allowed
        self.unit = unit

    def add(self, line: int, reason: str) -> None:
        """Leave a bad line out.

        Args:
            line: its number, from 1.
            reason: why it is bad.

        Raises:
            SsdgymError: there are now more bad lines than allowed.
        """
        self.count += 1
        if self.count > self._allowed:
            remedy = (
                f"that is more than the {self._allowed} bad lines that skip_bad allows"
                if self._allowed
                else "correct it, or set skip_bad to leave out bad lines"
            )
            raise SsdgymError(f"{self._path}: {self.unit} {line} {reason}; {remedy}.")
