"""`towtank model fit`: fits a curve of throughput as a function of load to measured points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towtank.cli.options import OptionCheck
from towtank.errors import ExitStatus, StudyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from towtank.containment import Parts
    from towtank.model import CurveAnswer, NetworkAnswer

_CURVES = ("usl", "amdahl", "linear", "closed", "load-dependent", "auto")
_NETWORK = "network"


def command(
    curve: Annotated[
        str | None,
        typer.Argument(
            metavar="[CURVE]",
            help=(
                "Curve to fit: usl, amdahl, linear, closed, load-dependent, or auto; network fits a model of "
                "all resources. Default: auto."
            ),
        ),
    ] = None,
    source: Annotated[
        Path | None, typer.Argument(metavar="CSV|RESULTS", help="CSV file of any tool, or a results folder of a study.")
    ] = None,
    *,
    x: Annotated[
        str | None, typer.Option("--x", help="Name of the column with the load, for example users or processors.")
    ] = None,
    y: Annotated[str | None, typer.Option("--y", help="Name of the column with the throughput, in 1/s.")] = None,
    response: Annotated[
        str | None, typer.Option(help="Name of the column with the mean response time, in seconds.")
    ] = None,
    error: Annotated[
        str | None, typer.Option(help="Name of the column with the standard error of the throughput.")
    ] = None,
    busy: Annotated[
        str | None, typer.Option(help="Name of the column with the mean number of busy servers at the bottleneck.")
    ] = None,
    think: Annotated[
        str | None, typer.Option(help="Think time, for example '2 s', or the name of its column, in seconds.")
    ] = None,
    servers: Annotated[
        int | None, typer.Option(help="Number of servers at the bottleneck, for the curves closed and load-dependent.")
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="Loads at which the model predicts the throughput, for example 500,750.")
    ] = None,
    hold_out: Annotated[
        int | None, typer.Option(help="Number of highest load levels that the fit leaves out and predicts, as a test.")
    ] = None,
    configuration: Annotated[
        str | None, typer.Option(help="Only fit configurations of a study whose label contains this text.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Model file to write: the fitted closed or load-dependent curve, or the network."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the fit as JSON.")] = False,
) -> int:
    """Fit a curve of throughput as a function of load; print confidence intervals, a verdict and predictions."""
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.model import FitRequest, PointColumns, fit_source, is_results, misplaced_options, why_no_source  # noqa: PLC0415

    check = OptionCheck()
    if source is None and curve is not None and curve not in (*_CURVES, _NETWORK):
        source, curve = Path(curve), None
    curve = curve or "auto"
    check.one_of("CURVE", curve, (*_CURVES, _NETWORK))
    if source is None:
        check.fault("CSV|RESULTS", "must name a CSV file or a results folder, got none")
        check.refuse_faults()
        raise AssertionError
    check.at_least_one("--servers", servers)
    check.at_least_one("--hold-out", hold_out)
    loads = _loads(check, at)
    results = is_results(source)
    if message := why_no_source(source):
        check.fault("CSV|RESULTS", message)
    columns = PointColumns(x, y, response, error, think, busy)
    for option, message in misplaced_options(source, columns, configuration):
        check.fault(option, message)
    think_s = check.duration("--think", think) if results and think is not None else None
    if out is not None and curve not in ("closed", "load-dependent", "auto", _NETWORK):
        check.fault(
            "--out",
            f"must be given with closed, load-dependent, auto or network, got {curve!r}: other curves have no network",
        )
    if curve == _NETWORK:
        _check_network(check, source, servers=servers, think=think, results=results)
    check.target("--out", out)
    check.refuse_faults()
    if curve == _NETWORK:
        return _network(source, configuration, loads, hold_out or 1, out, json=json)
    request = FitRequest(curve, servers, loads, hold_out, think_s)
    with contained() as parts:
        answers = fit_source(source, columns, request, configuration)
    return parts.status(_show(answers, source, out, parts, results=results, json=json))


def _check_network(check: OptionCheck, source: Path, *, servers: int | None, think: str | None, results: bool) -> None:
    if source.exists() and not results:
        check.fault("CSV|RESULTS", f"must be a results folder for a network of resources, got {str(source)!r}")
    for option, value in (("--servers", servers), ("--think", think)):
        if value is not None:
            check.fault(option, f"must not be given with network, which uses the results, got {value!r}")


def _network(
    source: Path, configuration: str | None, loads: list[float] | None, hold_out: int, out: Path | None, *, json: bool
) -> int:
    from towtank.cli.network_table import network_lines  # noqa: PLC0415
    from towtank.cli.output import failed_parts, print_failed, print_json, printer  # noqa: PLC0415
    from towtank.containment import contained  # noqa: PLC0415
    from towtank.model import (  # noqa: PLC0415
        NETWORK_SCHEMA,
        FittedNetwork,
        network_answers,
        no_such_configuration,
        written_network,
    )

    with contained() as parts:
        answers = network_answers(source, configuration, loads, hold_out)
    print_failed(parts)
    if not answers:
        raise no_such_configuration(configuration)
    if out is not None:
        _one_only(answers)
        answers[0].document["model"] = written_network(answers[0], str(source), out)
    documents = [answer.document for answer in answers]
    if json:
        print_json(
            {"schema": NETWORK_SCHEMA, "source": str(source), "configurations": documents, **failed_parts(parts)}
        )
    else:
        for line in (each for document in documents for each in network_lines(FittedNetwork.model_validate(document))):
            printer().print(line, markup=False) if isinstance(line, str) else printer().print(line)
    fitted = any(document["refused"] is None for document in documents)
    return parts.status(ExitStatus.DONE if fitted else ExitStatus.INVALID_MEASUREMENT)


def _one_only(answers: Sequence[CurveAnswer | NetworkAnswer]) -> None:
    """Raise an error if the models of several configurations would be written to one file."""
    if len(answers) > 1:
        labels = "; ".join(str(answer.document["label"]) for answer in answers)
        message = f"must be given for one configuration, choose it with --configuration, got {labels}"
        raise StudyError.of_option("--out", message)


def _loads(check: OptionCheck, text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        loads = [float(part) for part in text.split(",")]
    except ValueError:
        loads = [0.0]
    if not all(0 < load < 1e9 for load in loads):
        check.fault("--at", f"must be loads above 0, separated by commas, got {text!r} instead")
    return loads


def _show(
    answers: list[CurveAnswer], source: Path, out: Path | None, parts: Parts, *, results: bool, json: bool
) -> ExitStatus:
    from towtank.cli.fit_table import fit_lines  # noqa: PLC0415
    from towtank.cli.output import failed_parts, print_failed, print_json, printer  # noqa: PLC0415
    from towtank.model import FittedConfiguration, written_model  # noqa: PLC0415

    print_failed(parts)
    if out is not None:
        _one_only(answers)
        answers[0].document["model"] = written_model(answers[0], str(source), out, option="--out")
    documents = [answer.document for answer in answers]
    if json and results:
        head = {"schema": "towtank/model-fit/1", "source": str(source)}
        print_json({**head, "configurations": documents, **failed_parts(parts)})
    elif json:
        print_json(documents[0])
    else:
        for document in documents:
            for line in fit_lines(FittedConfiguration.model_validate(document)):
                printer().print(line, markup=False) if isinstance(line, str) else printer().print(line)
    fitted = any(document["curve"] is not None for document in documents)
    return ExitStatus.DONE if fitted else ExitStatus.INVALID_MEASUREMENT
