"""`towtank model ...`: fits models to measurements, and solves and simulates queueing networks."""

from __future__ import annotations

import typer

from towtank.cli import model_cache, model_demands, model_fit, model_simulate, model_solve

group = typer.Typer(
    help="Explain and predict performance with queueing models, fitted curves and cache models.", no_args_is_help=True
)
group.command("fit")(model_fit.command)
group.command("demands")(model_demands.command)
group.command("solve")(model_solve.command)
group.command("simulate")(model_simulate.command)
group.command("cache")(model_cache.command)
