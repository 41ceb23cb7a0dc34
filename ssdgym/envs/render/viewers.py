"""What draws scenes, by render mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ssdgym.envs.render.picture import draw_picture
from ssdgym.envs.render.scene import Scene
from ssdgym.envs.render.text import draw_text
from ssdgym.errors import SsdgymError

#: Makes a frame of a scene.
Viewer = Callable[[Scene], Any]
#: The viewers that an environment has by default.
VIEWERS: Mapping[str, Viewer] = {"ansi": draw_text, "rgb_array": draw_picture}


def check_render_mode(render_mode: str | None, viewers: Mapping[str, Viewer]) -> None:
    """Check that there is a viewer for a render mode.

    Args:
        render_mode: None asks for none.
        viewers: by render mode.

    Raises:
        SsdgymError: there is none.
    """
    if render_mode is not None and render_mode not in viewers:
        known = ", ".join(repr(mode) for mode in viewers)
        raise SsdgymError(f"render_mode must be None or one of {known}, not {render_mode!r:.60}.")
