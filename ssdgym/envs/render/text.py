"""The render mode `ansi`: a character for each block, for terminals."""

from __future__ import annotations

import numpy as np
from gymnasium.utils import colorize

from ssdgym.envs.render.scene import Scene
from ssdgym.simulator.families import FREE, VALID

#: Most characters of a plane's line, and most lines of all planes.
_WIDTH, _LINES = 64, 48
#: By the share of a block's pages that are valid, from none up.
_LEVELS = " ▁▂▃▄▅▆▇█"
_FREE = "·"
_LEGEND = "height: valid pages   ·: free   "


def draw_text(scene: Scene) -> str:
    """Draw a device as lines of text with colours of ANSI terminals.

    Large devices have several blocks in a character: their mean, marked if one of them is.

    Args:
        scene: the device.

    Returns:
        Lines, with a caption above and a legend below.
    """
    planes, blocks, _ = scene.map.pages.shape
    lines_per_plane = max(_LINES // planes, 1)
    shown = min(planes, _LINES)
    together = -(-blocks // (_WIDTH * lines_per_plane))
    starts = np.arange(0, blocks, together)
    characters = _characters(scene, starts)
    lines = [scene.caption, scene.decision]
    for plane in range(shown):
        for first in range(0, len(starts), _WIDTH):
            place = f"plane {plane:<3}" if first == 0 else " " * 9
            lines.append(f"{place} {''.join(characters[plane][first : first + _WIDTH])}")
    if shown < planes:
        lines.append(f"... and {planes - shown} more planes")
    return "\n".join([*lines, _legend(together)]) + "\n"


def _characters(scene: Scene, starts: np.ndarray) -> list[list[str]]:
    """Return a character for each group of blocks, by plane; groups begin at `starts`."""
    pages = scene.map.pages
    valid = np.add.reduceat((pages == VALID).mean(axis=2), starts, axis=1)
    empty = (pages == FREE).all(axis=2)
    free = np.logical_and.reduceat(empty, starts, axis=1)
    sizes = np.diff(np.append(starts, pages.shape[1]))
    levels = np.ceil(valid / sizes * (len(_LEVELS) - 1)).astype(int)
    marks = [
        np.logical_or.reduceat(marked, starts, axis=1)
        for marked in (scene.map.open & ~empty, scene.offered_blocks, scene.chosen_blocks)
    ]
    return [
        [
            _painted(_FREE if free[p, k] else _LEVELS[levels[p, k]], *(bool(mark[p, k]) for mark in marks))
            for k in range(len(starts))
        ]
        for p in range(pages.shape[0])
    ]


def _painted(character: str, is_open: bool, offered: bool, chosen: bool) -> str:
    """Return the character in the colour of the mark that matters most."""
    if chosen:
        return colorize(character, "magenta", highlight=True)
    if offered:
        return colorize(character, "yellow", highlight=True)
    return colorize(character, "green") if is_open else character


def _legend(together: int) -> str:
    blocks = "" if together == 1 else f"   each character: {together} blocks"
    return (
        f"{_LEGEND}{colorize('open', 'green')}   {colorize('candidate', 'yellow', highlight=True)}   "
        f"{colorize('chosen before', 'magenta', highlight=True)}{blocks}"
    )
