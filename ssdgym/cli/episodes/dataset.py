"""`ssdgym dataset`: episodes of heuristics and agents as a data set of Minari."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from ssdgym.cli import options
from ssdgym.cli.console import compile_note, print_json, print_table, progress_bar
from ssdgym.errors import SsdgymError


def dataset(
    name: Annotated[
        str, typer.Argument(help="Id of the data set, group/name-v0, as Minari has them.", show_default=False)
    ],
    environment: Annotated[str, typer.Option(help="Environment.")] = "ssdgym/EraseVictim-v0",
    env_arg: options.EnvArgs = None,
    workload: Annotated[
        str | None, typer.Option("--workload", "-w", help="Workload. Default: the environment's.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", "-p", help="Proposer of the environment that plays; repeat for a mix, in turn."
        ),
    ] = None,
    agent: options.Agents = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(help="Proposer for the reference score; repeat for more. Default: all of them."),
    ] = None,
    trust: options.Trust = False,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of the data set.")] = 100,
    reference_episodes: Annotated[
        int, typer.Option(min=1, help="Episodes behind each reference score, of other seeds.")
    ] = 20,
    seed: options.Seed = 0,
    author: Annotated[str | None, typer.Option(help="Who makes it, for its metadata.")] = None,
    email: Annotated[str | None, typer.Option(help="Their address.")] = None,
    code: Annotated[str | None, typer.Option(help="Permanent link of the code that makes it.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a Minari data set of whole episodes, with reference scores: 0 random actions, 1 the best.

    Episode i has the seed SEED + i; the policies and agents take turns. Without any, the best policy plays.
    minari.load_dataset(ID) loads it, from where Minari keeps data sets (MINARI_DATASETS_PATH).

    Examples:

        ssdgym dataset erase-victim/zipf99-expert-v0

        ssdgym dataset erase-victim/hot90-mixed-v0 -w hot90 -p cost_benefit -p greedy -a random_action

        ssdgym dataset joint-gc/mine-v0 --environment ssdgym/JointGC-v0 --agent runs/joint/agent.zip
    """
    from ssdgym.agents.playing.agents import names_callable, read_parameters
    from ssdgym.agents.playing.files import source_of
    from ssdgym.agents.training.config import EnvironmentConfig

    try:
        import minari  # noqa: F401
    except ModuleNotFoundError as error:
        raise SsdgymError(
            f"data sets need the package {error.name}: install it with pip install 'ssdgym[offline]'"
        ) from error
    from ssdgym.agents.playing import datasets
    from ssdgym.agents.playing.behaviours import agent_behaviour, heuristic

    datasets.check_id(name)
    compile_note(quiet=as_json)
    kwargs = read_parameters("--env-arg", env_arg or ())
    if workload is not None:
        kwargs["workload"] = workload
    recorder = datasets.Recorder(EnvironmentConfig(id=environment, kwargs=kwargs))
    env = recorder.env
    # What is typed here does not come from a stranger.
    sources = [source_of(text, trust=trust or names_callable(text)) for text in agent or ()]
    named = {text: heuristic(env, text) for text in policy or ()}
    named |= {source.label: agent_behaviour(env, source) for source in sources}
    compared = {text: heuristic(env, text) for text in reference or env.metadata["proposers"]}
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
            {"author": author, "author_email": email, "code_permalink": code},
            advance,
        )
    means = {label: float(np.mean(returns)) for label, returns in found.returns.items() if returns}
    if as_json:
        facts = {"id": name, "path": str(found.path), "episodes": found.episodes, "steps": found.steps}
        print_json({**facts, "returns": means, "reference_returns": scores.means, "best": scores.best})
        return
    low, high = scores.means[datasets.RANDOM], scores.means[scores.best]
    rows = sorted(scores.means, key=lambda label: -scores.means[label])
    print_table(
        ["policy or agent"],
        ["return", "normalised", "in the data"],
        [
            (
                label,
                f"{scores.means[label]:,.2f}",
                f"{(scores.means[label] - low) / (high - low):.3f}",
                f"{len(found.returns.get(label, ()))} episodes",
            )
            for label in rows
        ],
    )
    print(f"{name}: {found.episodes} episodes, {found.steps:,} decisions")
    print(found.path)
