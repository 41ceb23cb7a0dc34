"""`ssdgym zoo dataset | watch`: episodes as a data set of Minari, or in the terminal."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from ssdgym.cli import options
from ssdgym.cli.console import compile_note, print_json, print_rows, progress_bar
from ssdgym.cli.evaluate import environment_fields
from ssdgym.errors import SsdgymError, needing

if TYPE_CHECKING:
    from ssdgym.agents.playing.agents import Source
    from ssdgym.agents.training.config import EnvironmentConfig

_Workload = Annotated[
    str | None, typer.Option("--workload", "-w", help="Workload. Default: the environment's.")
]


def dataset(
    name: Annotated[
        str, typer.Argument(help="Id of the data set, group/name-v0, as Minari has them.", show_default=False)
    ],
    environment: Annotated[str, typer.Option(help="Environment.")] = "ssdgym/EraseVictim-v0",
    env_arg: options.EnvArgs = None,
    workload: _Workload = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", "-p", help="Proposer of the environment that plays; repeat for a mix, in turn."
        ),
    ] = None,
    agent: options.Agents = None,
    trust: options.Trust = False,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of the data set.")] = 100,
    reference_episodes: Annotated[
        int, typer.Option(min=1, help="Episodes behind each reference score, of other seeds.")
    ] = 20,
    seed: options.Seed = 0,
    author: Annotated[str | None, typer.Option(help="Who makes it, for its metadata.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a Minari data set of whole episodes, with reference scores: 0 random actions, 1 the best.

    Episode i has the seed SEED + i; the policies and agents take turns. Without any, the best policy plays.
    minari.load_dataset(ID) loads it, from where Minari keeps data sets (MINARI_DATASETS_PATH).

    Examples:

        ssdgym zoo dataset erase-victim/zipf99-expert-v0

        ssdgym zoo dataset erase-victim/hot90-mixed-v0 -w hot90 -p cost_benefit -p greedy -a random_action
    """
    from ssdgym.agents.playing.files import source_of

    with needing("offline", "data sets need"):
        import minari  # noqa: F401
    from ssdgym.agents.playing import datasets
    from ssdgym.agents.playing.agents import agent_behaviour, heuristic

    datasets.check_id(name)
    compile_note(quiet=as_json)
    recorder = datasets.Recorder(_environment(environment, env_arg, workload))
    env = recorder.env
    sources = [_typed(text, trust) for text in agent or ()]
    named = {text: heuristic(env, text) for text in policy or ()}
    named |= {source.label: agent_behaviour(env, source) for source in sources}
    compared = {text: heuristic(env, text) for text in env.metadata["proposers"]}
    compared = {**compared, **named}
    compared[datasets.RANDOM] = agent_behaviour(env, source_of(datasets.RANDOM))
    first = seed + episodes
    scores = recorder.score(compared, range(first, first + reference_episodes))
    behaviours = named or {scores.best: compared[scores.best]}
    with progress_bar("episodes", quiet=as_json) as advance:
        found = datasets.record(
            name,
            recorder,
            behaviours,
            scores,
            range(seed, seed + episodes),
            {"author": author},
            advance,
        )
    means = {label: float(np.mean(returns)) for label, returns in found.returns.items() if returns}
    if as_json:
        facts = {"id": name, "path": str(found.path), "episodes": found.episodes, "steps": found.steps}
        print_json({**facts, "returns": means, "reference_returns": scores.means, "best": scores.best})
        return
    low, high = scores.means[datasets.RANDOM], scores.means[scores.best]
    print_rows(
        {
            "policy or agent": label,
            "return": f"{mean:,.2f}",
            "normalised": f"{(mean - low) / (high - low):.3f}",
            "in the data": f"{len(found.returns.get(label, ()))} episodes",
        }
        for label, mean in sorted(scores.means.items(), key=lambda item: -item[1])
    )
    print(f"{name}: {found.episodes} episodes, {found.steps:,} decisions")
    print(found.path)


def watch(
    environment: Annotated[str, typer.Argument(help="Environment.")] = "ssdgym/EraseVictim-v0",
    env_arg: options.EnvArgs = None,
    workload: _Workload = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", "-p", help="Proposer of the environment that plays. Default: its first."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Agent that plays instead, as for evaluate.")
    ] = None,
    trust: options.Trust = False,
    seed: options.Seed = 0,
    decisions: Annotated[int | None, typer.Option(min=1, help="Decisions. Default: the episode.")] = None,
    fps: Annotated[float, typer.Option(min=0.1, max=50, help="Decisions per second.")] = 10,
) -> None:
    """Play an episode in the terminal: what every block holds, what is offered, what was chosen.

    Ctrl-C ends it. Where there is no terminal, the last frame is printed.

    Examples:

        ssdgym zoo watch

        ssdgym zoo watch ssdgym/Placement-v0 --decisions 300 --env-arg device=tiny

        ssdgym zoo watch --agent runs/demo/agent.zip
    """
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from ssdgym.agents.playing.agents import agent_behaviour, heuristic, single

    if policy is not None and agent is not None:
        raise SsdgymError("--policy and --agent both say what plays; give one of the two.")
    compile_note(quiet=False)
    played = _environment(environment, env_arg, workload)
    env = single(played, render_mode="ansi")
    if agent is None:
        name = policy or next(iter(env.metadata["proposers"]), "greedy")
        behave = heuristic(env, name)
    else:
        source = _typed(agent, trust)
        name, behave = source.label, agent_behaviour(env, source)
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed)
    earned, over = 0.0, False
    with Live(console=Console(highlight=False), auto_refresh=False, screen=False) as live:
        for number in count():
            line = f"{name}: {number} decisions, return {earned:,.2f}\n"
            (drawn,) = env.render()
            live.update(Text.from_ansi(drawn + line), refresh=True)
            if over or number == decisions:
                break
            began = time.monotonic()
            action = behave(observation, info, rng)
            observation, reward, _, truncated, info = env.step(np.array([action]))
            earned, over = earned + float(reward[0]), bool(truncated[0])
            if live.console.is_terminal:
                time.sleep(max(1 / fps - (time.monotonic() - began), 0))


def _environment(name: str, env_arg: list[str] | None, workload: str | None) -> EnvironmentConfig:
    """Return the environment that options name."""
    from ssdgym.agents.training.config import EnvironmentConfig

    words = [*(env_arg or ()), *([] if workload is None else [f"workload={workload}"])]
    return EnvironmentConfig(**(environment_fields(name, words) or {}))


def _typed(agent: str, trust: bool) -> Source:
    """Return where an agent comes from; a callable that is typed here does not come from a stranger."""
    from ssdgym.agents.playing.agents import names_callable
    from ssdgym.agents.playing.files import source_of

    return source_of(agent, trust=trust or names_callable(agent))
