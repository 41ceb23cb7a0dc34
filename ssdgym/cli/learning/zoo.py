"""`ssdgym zoo list` and `ssdgym zoo show`: the agents that come with ssdgym."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ssdgym.cli.console import console, print_json, table_of
from ssdgym.cli.options import AsJson

if TYPE_CHECKING:
    from ssdgym.agents.zoo.described import ZooAgent

zoo = typer.Typer(help="Agents that come with ssdgym, each a rule by name: agent:NAME.", no_args_is_help=True)
#: What a table needs to keep what an agent is trained with on few lines.
_WIDTH = 150


@zoo.command("list")
def list_agents(as_json: AsJson = False) -> None:
    """List the agents: what they decide, what they cost, what trained them, and what was measured of them.

    Examples:

        ssdgym zoo list

        ssdgym zoo list --json
    """
    from ssdgym.agents.zoo.described import described_zoo

    agents = described_zoo()
    if as_json:
        print_json([agent.as_dict() for agent in agents])
        return
    if not agents:
        print("The zoo is empty.")
        return
    words, numbers = (
        ["name", "decides", "network", "trained with", "results"],
        ["features", "multiply-adds", "bytes"],
    )
    rows = [
        (agent.name, agent.decides, agent.network, _training(agent), _results(agent), *_numbers(agent))
        for agent in agents
    ]
    console(_WIDTH).print(table_of(words, numbers, rows))


def _training(agent: ZooAgent) -> str:
    """Return the command, or what has trained the agent, and on what."""
    from rich.markup import escape

    made = agent.made
    words = {"seed": "seed {}", "suite": "suite {}", "split_digest": "splits {:.12}"}
    facts = ", ".join(form.format(made[name]) for name, form in words.items() if name in made)
    return escape("\n".join(filter(None, (str(made.get("command", made["trained_by"])), facts))))


def _results(agent: ZooAgent) -> str:
    from rich.markup import escape

    return escape("\n".join(f"{name}: {value:,.4g}" for name, value in agent.card.results.items()) or "-")


def _numbers(agent: ZooAgent) -> tuple[str, str, str]:
    cost = agent.cost
    each = f" + {cost.candidate_multiply_adds:,} each" if cost.candidate_multiply_adds else ""
    return str(len(agent.features)), f"{cost.shared_multiply_adds:,}{each}", f"{cost.weight_bytes:,}"


@zoo.command("show")
def show_agent(
    name: Annotated[str, typer.Argument(help="Name of an agent, or path of its file.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Show all that the card of one agent says.

    Examples:

        ssdgym zoo show runs/first/agent.zip

        ssdgym zoo show runs/first/agent.zip --json
    """
    from ssdgym.agents.zoo.described import described_agent

    agent = described_agent(name)
    if as_json:
        print_json(agent.as_dict())
        return
    for key, value in agent.as_dict().items():
        if isinstance(value, dict):
            print(f"{key}:", "" if value else "-")
            for inner, number in value.items():
                print(f"  {inner}: {number:,.4g}")
        else:
            print(f"{key}: {', '.join(value) if isinstance(value, list) else value}")
