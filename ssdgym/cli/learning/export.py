"""`ssdgym export`: a trained agent as code that runs without Python."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Annotated

import typer

from ssdgym.cli.console import print_json
from ssdgym.cli.learning.extras import agents_extra
from ssdgym.cli.options import AsJson
from ssdgym.errors import SsdgymError


def export(
    agent: Annotated[Path, typer.Argument(help="File that ssdgym train wrote.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The C header to write.", show_default=False)],
    name: Annotated[str, typer.Option(help="What its functions begin with.")] = "agent",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the header if it is there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write an agent as one C header without dependencies, for other simulators and for firmware.

    Its functions take features in the order in which the header lists them: NAME_scores and NAME_choose of
    an agent that scores candidates, NAME_act of one that cuts a scale into actions.

    Examples:

        ssdgym export runs/first/agent.zip --out victim.h

        ssdgym export runs/first/agent.zip --out victim.h --name victim --json
    """
    from ssdgym.files import write_atomically

    with agents_extra():
        from ssdgym.agents.agent import Agent
        from ssdgym.agents.exporting.c_header import c_header
        from ssdgym.agents.exporting.cost import cost_of
    if out.exists() and not overwrite:
        raise SsdgymError(f"{out}: is there already; give another name, or --overwrite to replace it.")
    loaded = Agent.load(agent)
    text = c_header(loaded, name)

    def write(file: IO[bytes]) -> None:
        file.write(text.encode())

    write_atomically(out, write)
    cost = cost_of(loaded.card)
    if as_json:
        print_json({"header": str(out), **vars(cost)})
        return
    print(
        f"{out}: {cost.weight_bytes:,} bytes of weights; a decision costs {cost.shared_multiply_adds:,} "
        f"multiply-adds, and {cost.candidate_multiply_adds:,} for every candidate"
    )
