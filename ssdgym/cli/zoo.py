"""`ssdgym zoo`: show agents, export them as C headers, watch episodes, and record data sets."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path

import typer

from ssdgym.cli.console import facts, progress_bar, show, table
from ssdgym.cli.options import Texts, command, environment_fields
from ssdgym.errors import SsdgymError, needing

zoo = typer.Typer(
    help="Show, export, watch and record agents: those that come with ssdgym (agent:NAME) and your own.",
    no_args_is_help=True,
)


@zoo.command("show")
@command
def show_agent(shown_agent: str) -> None:
    """Show the card (description) of an agent.

    Examples:
        ssdgym zoo show runs/first/agent.zip
    """
    from ssdgym.agents.zoo.described import described_agent

    card = described_agent(shown_agent).as_dict()
    show(card, [table(facts(card))])


@zoo.command()
@command
def export(shown_agent: str, out_file: Path, name: str = "agent", overwrite: bool = False) -> None:
    """Write an agent as one C header without dependencies, for other simulators and for firmware.

    An agent that scores candidates becomes the functions NAME_scores and NAME_choose, an agent with an
    ordinal network the function NAME_act. They take features in the order in which the header lists them.

    Examples:
        ssdgym zoo export victim-v1 --out victim.h
        ssdgym zoo export runs/first/agent.zip --out victim.h --name victim --json
    """
    from ssdgym.files import write_atomically

    with needing("agents", "agents need"):
        from ssdgym.agents.agent import Agent
        from ssdgym.agents.c_header import c_header
        from ssdgym.agents.card import cost_of
    if out_file.exists() and not overwrite:
        raise SsdgymError(f"{out_file}: is there already; give another name, or --overwrite to replace it.")
    loaded = Agent.load(shown_agent)
    write_atomically(out_file, c_header(loaded, name).encode())
    found = {"header": str(out_file), **vars(cost_of(loaded.card))}
    show(found, [table(facts(found))])


@zoo.command()
@command
def watch(
    played: str = "ssdgym/EraseVictim-v0",
    env_arg: Texts = None,
    proposer: str | None = None,
    agent: str | None = None,
    trust: bool = False,
    seed: int = 0,
    decisions: int | None = None,
) -> None:
    """Run an episode in the terminal, and show the pages of every block, the candidates and the choices.

    The terminal shows ten decisions per second; Ctrl-C ends the episode. --policy or --agent decides,
    by default the environment's first heuristic. Without a terminal, only the last frame is printed.

    Examples:
        ssdgym zoo watch
        ssdgym zoo watch ssdgym/Placement-v0 --decisions 300 --env-arg device=tiny
        ssdgym zoo watch --agent runs/demo/agent.zip
    """
    import numpy as np
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from ssdgym.agents.playing.agents import agent_behaviour, heuristic, names_callable, single
    from ssdgym.agents.playing.files import source_of
    from ssdgym.agents.training.config import EnvironmentConfig

    if proposer is not None and agent is not None:
        raise SsdgymError("--policy and --agent both say what plays; give one of the two.")
    env = single(EnvironmentConfig(**environment_fields(played, env_arg)), render_mode="ansi")
    if agent is None:
        name = proposer or next(iter(env.metadata["proposers"]), "greedy")
        behave = heuristic(env, name)
    else:
        source = source_of(agent, trust=trust or names_callable(agent))
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
                time.sleep(max(0.1 - (time.monotonic() - began), 0))


@zoo.command()
@command
def dataset(
    dataset_id: str,
    environment: str = "ssdgym/EraseVictim-v0",
    env_arg: Texts = None,
    proposer: Texts = None,
    agent: Texts = None,
    trust: bool = False,
    episodes: int = 100,
    reference_episodes: int = 20,
    seed: int = 0,
) -> None:
    """Record a Minari data set of whole episodes, with reference scores: 0 random actions, 1 the best policy.

    Episode i has the seed SEED + i. The given policies and agents take turns; by default the best policy runs
    all episodes. minari.load_dataset(ID) loads the data set from Minari's folder (MINARI_DATASETS_PATH).

    Examples:
        ssdgym zoo dataset erase-victim/zipf99-expert-v0
        ssdgym zoo dataset erase-victim/hot90-mixed-v0 --env-arg workload=hot90 -p greedy -a random_action
    """
    import numpy as np

    from ssdgym.agents.playing.files import source_of

    with needing("offline", "data sets need"):
        import minari  # noqa: F401
    from ssdgym.agents.playing import datasets
    from ssdgym.agents.playing.agents import agent_behaviour, heuristic, names_callable, single
    from ssdgym.agents.training.config import EnvironmentConfig

    datasets.check_id(dataset_id)
    config = EnvironmentConfig(**environment_fields(environment, env_arg))
    env = single(config)
    sources = [source_of(text, trust=trust or names_callable(text)) for text in agent or ()]
    named = {text: heuristic(env, text) for text in proposer or ()}
    named |= {source.label: agent_behaviour(env, source) for source in sources}
    compared = {text: heuristic(env, text) for text in env.metadata["proposers"]}
    compared |= named | {datasets.RANDOM: agent_behaviour(env, source_of(datasets.RANDOM))}
    first = seed + episodes
    scores = datasets.score(env, compared, range(first, first + reference_episodes))
    best = max(scores, key=lambda name: scores[name])
    behaviours = named or {best: compared[best]}
    with progress_bar("episodes") as advance:
        found, returns = datasets.record(dataset_id, config, behaviours, scores, range(seed, first), advance)
    means = {label: float(np.mean(of_label)) for label, of_label in returns.items() if of_label}
    sizes = {"episodes": found.total_episodes, "steps": found.total_steps}
    data = {"id": dataset_id, "path": str(found.storage.data_path), **sizes}
    data |= {"returns": means, "reference_returns": dict(scores), "best": best}
    show(data, [table(facts(data))])
