"""`ssdgym watch`: an episode, decision by decision, in the terminal or as a GIF."""

from __future__ import annotations

import sys
import time
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ssdgym.cli import options
from ssdgym.cli.console import compile_note
from ssdgym.errors import SsdgymError

if TYPE_CHECKING:
    from ssdgym.envs.render import Scene


def watch(
    environment: Annotated[str, typer.Argument(help="Environment.")] = "ssdgym/EraseVictim-v0",
    env_arg: options.EnvArgs = None,
    workload: Annotated[
        str | None, typer.Option("--workload", "-w", help="Workload. Default: the environment's.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", "-p", help="Proposer of the environment that plays. Default: its first."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Agent that plays instead, as for evaluate.")
    ] = None,
    trust: options.Trust = False,
    seed: options.Seed = 0,
    decisions: Annotated[
        int | None, typer.Option(min=1, help="Decisions. Default: the episode; 100 with --gif.")
    ] = None,
    fps: Annotated[float, typer.Option(min=0.1, max=50, help="Decisions per second.")] = 10,
    gif: Annotated[
        Path | None, typer.Option(help="GIF that is written, a frame for each decision, as fast as it goes.")
    ] = None,
) -> None:
    """Play an episode in the terminal: what every block holds, what is offered, what was chosen.

    Ctrl-C ends it. Where there is no terminal, the last frame is printed.

    Examples:

        ssdgym watch

        ssdgym watch --workload hot90 --policy cost_benefit --fps 25

        ssdgym watch ssdgym/Placement-v0 --decisions 300 --env-arg device=tiny

        ssdgym watch --agent runs/demo/agent.zip --gif episode.gif
    """
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from ssdgym.agents.playing.agents import names_callable, read_parameters
    from ssdgym.agents.playing.behaviours import agent_behaviour, heuristic, single
    from ssdgym.agents.playing.files import source_of
    from ssdgym.agents.training.config import EnvironmentConfig
    from ssdgym.envs.render import draw_text
    from ssdgym.files import writable_folder

    if policy is not None and agent is not None:
        raise SsdgymError("--policy and --agent both say what plays; give one of the two.")
    if gif is not None:
        writable_folder(gif.parent)
    compile_note(quiet=False)
    kwargs = read_parameters("--env-arg", env_arg or ())
    if workload is not None:
        kwargs["workload"] = workload
    env = single(
        EnvironmentConfig(id=environment, kwargs=kwargs),
        render_mode="scene",
        viewers={"scene": lambda scene: scene},
    )
    if agent is None:
        name = policy or next(iter(env.metadata["proposers"]), "greedy")
        behave = heuristic(env, name)
    else:
        # What is typed here does not come from a stranger.
        source = source_of(agent, trust=trust or names_callable(agent))
        name, behave = source.label, agent_behaviour(env, source)
    most = decisions or (100 if gif else sys.maxsize)
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    scenes, earned, over = [_scene(env)], 0.0, False
    with Live(console=Console(highlight=False), auto_refresh=False, screen=False) as live:
        for number in count():
            line = f"{name}: {number} decisions, return {earned:,.2f}\n"
            live.update(Text.from_ansi(draw_text(scenes[-1]) + line), refresh=True)
            if over or number == most:
                break
            began = time.monotonic()
            action = behave(observation, info, rng)
            observation, reward, _, truncated, info = env.step(np.array([action]))
            earned, over = earned + float(reward[0]), bool(truncated[0])
            scenes = [*(scenes if gif else ()), _scene(env)]
            if gif is None and live.console.is_terminal:
                time.sleep(max(1 / fps - (time.monotonic() - began), 0))
    if gif is not None:
        _write_gif(gif, scenes, fps)
        print(f"{gif}: {len(scenes)} frames")


def _scene(env: Any) -> Scene:
    (scene,) = env.render()
    return scene


def _write_gif(path: Path, scenes: list[Scene], fps: float) -> None:
    from PIL import Image

    from ssdgym.envs.render import draw_picture
    from ssdgym.files import write_atomically

    frames = [Image.fromarray(draw_picture(scene)).quantize(64) for scene in scenes]

    def write(file: IO[bytes]) -> None:
        frames[0].save(
            file, "GIF", save_all=True, append_images=frames[1:], duration=round(1000 / fps), loop=0
        )

    write_atomically(path, write)
