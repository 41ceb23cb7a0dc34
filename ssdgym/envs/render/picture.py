"""The render mode `rgb_array`: every page a square, in its block, in its plane."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ssdgym.envs.render.layout import GAP, TITLE, Layout, layout_of
from ssdgym.envs.render.scene import Scene
from ssdgym.simulator.families import FREE, INVALID, VALID

#: Colours that stay apart for the colour-blind (after Okabe and Ito).
_COLOURS = {FREE: (226, 230, 234), VALID: (0, 114, 178), INVALID: (240, 180, 90)}
_OPEN, _OFFERED, _CHOSEN = (0, 158, 115), (40, 40, 40), (204, 51, 140)
_PAPER, _INK = (255, 255, 255), (40, 40, 40)
_MARGIN, _LINE = 12, 18
#: What the legend says of each colour; frames are drawn hollow.
_LEGEND = (
    ("valid", _COLOURS[VALID], False),
    ("invalid", _COLOURS[INVALID], False),
    ("free", _COLOURS[FREE], False),
    ("block being written", _OPEN, True),
    ("candidate", _OFFERED, True),
    ("chosen before", _CHOSEN, True),
)
_LEAST_WIDTH = 560


def draw_picture(scene: Scene) -> np.ndarray:
    """Draw a device as a picture; its size depends on the geometry only.

    Large devices have several pages in a square, in their mean colour, and the largest several blocks in a
    cell, which is framed if one of them is.

    Args:
        scene: the device.

    Returns:
        uint8 (height, width, 3).
    """
    layout = layout_of(*scene.map.pages.shape)
    width, height = layout.size
    top = _MARGIN + 2 * _LINE + 4
    size = max(width, _LEAST_WIDTH) + 2 * _MARGIN, top + height + 2 * _LINE + _MARGIN
    image = Image.new("RGB", size, _PAPER)
    _write(image, scene, layout, top + height + 8)
    canvas = np.array(image)
    cells = _cells(scene.map.pages, layout)
    frames = _frames(scene, layout)
    for plane in range(len(cells)):
        x, y = layout.corner(plane)
        _paint_plane(canvas[top + y :, _MARGIN + x :], cells[plane], frames[plane], layout)
    return canvas


def _cells(pages: np.ndarray, layout: Layout) -> np.ndarray:
    """Return the colours of all dots, uint8 (planes, cells, rows, columns, 3)."""
    planes, blocks, _ = pages.shape
    columns, rows = layout.cell
    cells = -(-blocks // layout.blocks)
    starts = np.arange(0, blocks, layout.blocks), np.arange(0, pages.shape[2], layout.pages)
    mixed = np.zeros((planes, cells, len(starts[1]), 3))
    total = np.zeros((planes, cells, len(starts[1]), 1))
    for held, colour in _COLOURS.items():
        counts = np.add.reduceat((pages == held).astype(np.int64), starts[1], axis=2)
        counts = np.add.reduceat(counts, starts[0], axis=1)[..., np.newaxis]
        mixed += counts * np.array(colour)
        total += counts
    dots = np.full((planes, cells, rows * columns, 3), _PAPER, np.uint8)
    dots[:, :, : len(starts[1])] = np.round(mixed / total)
    return dots.reshape(planes, cells, rows, columns, 3)


def _frames(scene: Scene, layout: Layout) -> np.ndarray:
    """Return the colour of each cell's frame, uint8 (planes, cells, 3); the mark that matters most wins."""
    starts = np.arange(0, scene.map.open.shape[1], layout.blocks)
    frames = np.full((len(scene.map.open), len(starts), 3), _PAPER, np.uint8)
    for marked, colour in (
        (scene.map.open, _OPEN),
        (scene.offered_blocks, _OFFERED),
        (scene.chosen_blocks, _CHOSEN),
    ):
        frames[np.logical_or.reduceat(marked, starts, axis=1)] = colour
    return frames


def _paint_plane(canvas: np.ndarray, cells: np.ndarray, frames: np.ndarray, layout: Layout) -> None:
    """Paint a plane's cells and their frames on the canvas that begins at its panel."""
    across, down = layout.pitch
    for k, (cell, frame) in enumerate(zip(cells, frames, strict=True)):
        row, column = divmod(k, layout.grid[0])
        x, y = column * across, TITLE + row * down
        if tuple(frame) != _PAPER:
            canvas[y : y + down + GAP, x : x + across + GAP] = frame
        dots = cell.repeat(layout.dot, axis=0).repeat(layout.dot, axis=1)
        canvas[y + GAP : y + down, x + GAP : x + across] = dots


def _write(image: Image.Image, scene: Scene, layout: Layout, below: int) -> None:
    """Write the caption, the names of the planes and the legend."""
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    small = ImageFont.load_default(11)
    draw.text((_MARGIN, _MARGIN - 4), scene.caption, _INK, font)
    draw.text((_MARGIN, _MARGIN - 4 + _LINE), scene.decision, _INK, font)
    for plane in range(len(scene.map.pages)):
        x, y = layout.corner(plane)
        draw.text((_MARGIN + x + GAP, _MARGIN + 2 * _LINE + 2 + y), f"plane {plane}", _INK, small)
    x = _MARGIN
    for name, colour, hollow in _LEGEND:
        swatch = (x, below + 3, x + 11, below + 14)
        draw.rectangle(swatch, None if hollow else colour, colour, width=3 if hollow else 1)
        draw.text((x + 17, below), name, _INK, small)
        x += 17 + int(draw.textlength(name, small)) + 16
    draw.text((_MARGIN, below + _LINE), _scale(layout), _INK, small)


def _scale(layout: Layout) -> str:
    pages = "a square is a page" if layout.pages == 1 else f"a square is {layout.pages} pages"
    return f"{pages}, a cell a block" if layout.blocks == 1 else f"{pages} of {layout.blocks} blocks"
