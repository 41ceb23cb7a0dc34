"""Where the blocks of a device go in a picture of bounded size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

#: Largest drawing, pixels.
_WIDTH, _HEIGHT = 960, 600
#: Sides of the square that stands for a page, pixels; larger ones first.
_DOTS = (12, 10, 8, 6, 5, 4, 3, 2, 1)
#: Blocks in one cell, and pages in one dot, as powers of two.
_GROUPS = tuple(2**k for k in range(24))
#: Between cells, and between the panels of planes, pixels; above a panel, for its name.
GAP, PANEL_GAP, TITLE = 3, 10, 15


@dataclass(frozen=True)
class Layout:
    """A grid of panels, one for each plane; a grid of cells in each; a grid of dots in each of these.

    Attributes:
        dot: side of a dot, pixels.
        pages: pages that a dot stands for.
        blocks: blocks that a cell stands for.
        cell: columns and rows of dots of a cell.
        grid: columns and rows of cells of a panel.
        panels: columns and rows of panels.
    """

    dot: int
    pages: int
    blocks: int
    cell: tuple[int, int]
    grid: tuple[int, int]
    panels: tuple[int, int]

    @property
    def pitch(self) -> tuple[int, int]:
        """From one cell to the next, pixels (across, down)."""
        return self.cell[0] * self.dot + GAP, self.cell[1] * self.dot + GAP

    @property
    def panel_size(self) -> tuple[int, int]:
        """Width and height of a panel with its title, pixels."""
        (across, down), (columns, rows) = self.pitch, self.grid
        return columns * across + GAP, rows * down + GAP + TITLE

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of all panels, pixels."""
        (width, height), (columns, rows) = self.panel_size, self.panels
        return columns * (width + PANEL_GAP) - PANEL_GAP, rows * (height + PANEL_GAP) - PANEL_GAP

    def corner(self, plane: int) -> tuple[int, int]:
        """Return the upper left corner of a plane's panel, pixels (x, y)."""
        row, column = divmod(plane, self.panels[0])
        return column * (self.panel_size[0] + PANEL_GAP), row * (self.panel_size[1] + PANEL_GAP)


def layout_of(planes: int, blocks: int, pages: int) -> Layout:
    """Return the layout in which most can be told apart: single blocks first, then pages, then large dots.

    Args:
        planes: of the device.
        blocks: of a plane.
        pages: of a block.
    """
    for together in _GROUPS:
        for per_dot, dot in product((k for k in _GROUPS if k < 2 * pages), _DOTS):
            found = _arranged(planes, -(-blocks // together), -(-pages // per_dot), dot)
            if found is not None:
                return Layout(dot, per_dot, together, *found)
    return Layout(1, pages, blocks, (1, 1), (1, 1), _square(planes))


def _arranged(
    planes: int, cells: int, dots: int, dot: int
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]] | None:
    """Return the columns and rows of dots, cells and panels if they fit, in few columns of panels."""
    wide = max(round(math.sqrt(dots / 2)), 1)
    cell = (wide, -(-dots // wide))
    for columns in (1, 2, 4, 8, 16, 32):
        if columns >= 2 * planes:
            break
        across = min((_WIDTH // columns - PANEL_GAP - GAP) // (cell[0] * dot + GAP), cells)
        if across < 1:
            continue
        layout = Layout(dot, 1, 1, cell, (across, -(-cells // across)), (columns, -(-planes // columns)))
        if layout.size[1] <= _HEIGHT:
            return layout.cell, layout.grid, layout.panels
    return None


def _square(count: int) -> tuple[int, int]:
    columns = math.isqrt(count - 1) + 1
    return columns, -(-count // columns)
