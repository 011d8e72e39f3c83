"""Builds the figure of residuals: relative differences between modelled and measured throughput at each level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from towtank.model import FittedConfiguration
from towtank.report import format as people
from towtank.report import theme, vega
from towtank.report.document import Figure, Table, headings
from towtank.report.figures import panel
from towtank.report.source import Results
from towtank.report.vega import Channel, Encoding, Legend, Mark, Specification, View, nominal, quantitative

NAME = "residuals"
# Difference between modelled and measured throughput above which a model does not fit a level. [standard errors]
FAR = 2.0
_MODELS = ("curve", "network")


@dataclass(frozen=True)
class Misfit:
    """Measured and fitted throughput and response time at one level.

    Attributes
    ----------
    label, run : str
        Label of the configuration, and name of the run.
    load, measured, fitted : float
        Load, measured throughput [1/s], and fitted throughput [1/s].
    error : float or None
        Standard error of the measured throughput. [1/s]
    response_s, fitted_response_s : float or None
        Measured and fitted mean response time; the fitted time is N / X - Z by Little's law. [s]
    band, response_band : tuple of float or None
        Ends of the 95 % band of the curve, for throughput [1/s] and response time [s]; None if unknown.
    """

    label: str
    run: str
    load: float
    measured: float
    fitted: float
    error: float | None
    response_s: float | None
    fitted_response_s: float | None
    band: tuple[float | None, float | None] = (None, None)
    response_band: tuple[float | None, float | None] = (None, None)

    @property
    def is_beyond(self) -> bool | None:
        """True if fitted and measured throughput differ by more than two standard errors; None if the error is
        unknown.
        """
        return None if self.error is None else abs(self.fitted - self.measured) > FAR * self.error

    @property
    def share(self) -> float:
        """Relative difference of the fitted from the measured throughput. [ratio]"""
        return self.fitted / self.measured - 1


def misfits(configuration: FittedConfiguration) -> Iterator[Misfit]:
    """Yield the measured and fitted values of a curve at each level, sorted by load."""
    for row in sorted(configuration.points, key=lambda row: row.load):
        measured, fitted, response = row.throughput, row.fitted_throughput, row.response_s
        if not fitted or not measured:
            continue
        think = row.think_s
        curve = None if response is None or think is None else row.load / fitted - think
        # N / X - Z is a small difference of large numbers; if it is negative, the response time is unknown.
        curve = None if curve is None or curve <= 0 else curve
        low, high = row.fitted_throughput_band_95
        times: tuple[float | None, float | None] = (None, None)
        if curve is not None and think is not None and low and high:
            # The band of a time begins at zero or above.
            times = (max(0.0, row.load / high - think), max(0.0, row.load / low - think))
        yield Misfit(
            configuration.label,
            row.name,
            row.load,
            measured,
            fitted,
            row.standard_error,
            response,
            curve,
            (low, high),
            times,
        )


@dataclass(frozen=True)
class Residual:
    """Residual of a model (`curve` or `network`) at one load: the relative difference of the modelled from the measured
    throughput, and two standard errors of the measured throughput, relative to it; None if unknown. [ratio]
    """

    configuration: str
    model: str
    load: float
    share: float
    error: float | None

    @property
    def is_beyond(self) -> bool:
        """True if modelled and measured throughput differ by more than two standard errors."""
        return self.error is not None and abs(self.share) > self.error


def compute(results: Results) -> list[Residual]:
    """Collect the residuals of curves and queueing networks at all levels."""
    return [residual for configuration in results.capacity.modelled for residual in _of(configuration)]


def _of(configuration: FittedConfiguration) -> Iterator[Residual]:
    label, errors = configuration.label, {}
    for found in misfits(configuration):
        error = None if found.error is None else FAR * found.error / found.measured
        errors[found.load] = error
        yield Residual(label, "curve", found.load, found.share, error)
    network = configuration.fitted_network
    for row in () if network is None else network.levels:
        if row.throughput and row.fitted_throughput:
            share = row.fitted_throughput / row.throughput - 1
            yield Residual(label, "network", row.load, share, errors.get(row.load))


def draw(residuals: list[Residual], load_factor: str) -> Specification:
    """Draw the residuals of each configuration, with grey bars of two standard errors of the measured throughput."""
    labels = list(dict.fromkeys(residual.configuration for residual in residuals))
    rows = [
        {
            "configuration": residual.configuration,
            "model": residual.model,
            "load": residual.load,
            "value": 100 * residual.share,
            "low": None if residual.error is None else -100 * residual.error,
            "high": None if residual.error is None else 100 * residual.error,
            "beyond": residual.is_beyond,
        }
        for residual in residuals
    ]
    x = panel.load_axis(load_factor, [residual.load for residual in residuals])
    unbound: Channel = {
        "type": "quantitative",
        "title": "throughput of the model relative to measured, minus 1 [%]",
        "axis": {"tickCount": 6},
    }
    y: Channel = {**unbound, "field": "value"}
    names = [model for model in _MODELS if any(residual.model == model for residual in residuals)]
    legend: Legend | None = {"title": None, "symbolSize": 90, "columns": len(names)} if len(names) > 1 else None
    point = Mark(type="point", size=75, opacity=1)
    styles = panel.in_colours_and_symbols("model", names, legend)
    place: Encoding = {"x": x, "y": y, **styles, "tooltip": _tooltip(load_factor)}
    within = "datum.model === 'curve' && datum.low !== null"
    errors = vega.between(Encoding(x=x, y=y), "y")
    layers = [
        vega.layer("rule", errors, where=within, strokeWidth=12, color=theme.GRID, opacity=1),
        vega.layer("rule", {"y": {**unbound, "datum": 0}}, color=theme.MUTED),
        vega.layer(point, place, where="datum.beyond", filled=True),
        vega.layer(point, place, where="!datum.beyond", filled=False, fill="white", strokeWidth=2),
    ]
    view: View = {"data": {"values": rows}, **panel.each_configuration(labels, layers)}
    return vega.specification(_description(residuals), **view)


def _tooltip(load_factor: str) -> list[Channel]:
    return [
        nominal("configuration"),
        nominal("model"),
        quantitative("load", title=panel.load_title(load_factor), format=theme.EXACT),
        quantitative("value", title="residual [%]", format="+.3~r"),
    ]


def _description(residuals: list[Residual]) -> str:
    """Return a description of the figure of residuals in words, for readers who cannot see the figure."""
    beyond = [residual for residual in residuals if residual.is_beyond]
    worst = max(residuals, key=lambda residual: abs(residual.share))
    number = f"{len(beyond)} of {people.plural(len(residuals), 'residual')}"
    return (
        f"Charts of the throughput of each model relative to the measured throughput. {number} exceed two standard "
        f"errors. The largest is {people.signed_share(worst.share)}: {worst.configuration}, {worst.model}, at "
        f"{people.plain(worst.load)}."
    )


def figure(results: Results) -> Figure | None:
    """Return the figure of residuals; None for fewer than two residuals, or for too many configurations."""
    residuals = compute(results)
    if len(residuals) < 2 or len({residual.configuration for residual in residuals}) > panel.CROWDED:
        return None
    return Figure(
        name=NAME,
        title=f"Residuals of the models against {panel.load_title(results.load_factor)}",
        description=_description(residuals),
        note="Zero is the measured throughput, with two standard errors as a grey bar. Filled symbols are outside "
        "of the bar, open symbols inside.",
        spec=draw(residuals, results.load_factor),
        table=_table(residuals, results.load_factor),
    )


def _table(residuals: list[Residual], load_factor: str) -> Table:
    columns = headings(
        "Configuration",
        "Model",
        f"#{panel.load_title(load_factor).capitalize()}",
        "#Residual of the throughput",
        "#Two standard errors",
    )
    rows = tuple(
        (
            residual.configuration,
            residual.model,
            people.plain(residual.load),
            people.signed_share(residual.share),
            people.share(residual.error),
        )
        for residual in residuals
    )
    return Table("Residuals of the models", columns, rows)
