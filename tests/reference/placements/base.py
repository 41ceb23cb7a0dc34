"""What every placement that is a rule is asked and told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..blocks import Blocks


class Placement:
    """Chooses the streams of pages; the device's clock counts host pages programmed.

    Pages that have no place are `UNMAPPED`. Nothing changes in what is asked, all that is learned is told.
    """

    def __init__(self, device: Blocks, **parameters: int) -> None:
        self.device = device
        self.parameters = parameters
        self.streams: dict[int, int] = {}  # of blocks
        self.begin()

    def begin(self) -> None:
        """Set up what it learns."""

    # Asked

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        """Where it would go in this plane, before anything about it has changed."""
        raise NotImplementedError

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        """Before the page is moved from the physical page `source`."""
        raise NotImplementedError

    # Told

    def written(self, lpn: int, old: int, new: int) -> None:
        """The clock counts this page; it is dead at birth where the map leads elsewhere."""

    def relocated(self, lpn: int, old: int, new: int) -> None:
        """A page has been moved, and the map with it."""

    def trimmed(self, lpn: int, old: int) -> None:
        """A page that was mapped is so no more."""

    def opened(self, block: int, stream: int) -> None:
        """An open block belongs to one stream."""
        self.streams[block] = stream

    def closed(self, block: int) -> None:
        """An open block is full."""

    def collected(self, block: int) -> None:
        """A block has become a victim and is in no index; its pages have not been moved."""

    def erased(self, block: int) -> None:
        """A victim is about to be erased."""

    def between_steps(self) -> None:
        """Nothing is going on at this moment: time for what takes long."""

    # Helpers

    @property
    def clock(self) -> int:
        return self.device.clock

    def stream_of_page(self, ppn: int) -> int:
        """The stream of the block that holds it."""
        return self.streams[self.device.block_of_page(ppn)]

    def is_alive(self, lpn: int, ppn: int) -> bool:
        return self.device.logical[lpn].ppn == ppn
