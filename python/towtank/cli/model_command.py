"""`towtank model ...`: models of a measured system."""

from __future__ import annotations

import typer

from towtank.cli import model_demands, model_fit

group = typer.Typer(help="Fit a model to measurements.", no_args_is_help=True)
group.command("fit")(model_fit.command)
group.command("demands")(model_demands.command)
