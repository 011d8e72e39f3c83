"""Samples and scrapes a system under load, with time stamps on the clock of the load.

`Observation` runs the engine's probe, which samples the host and groups of processes, and one thread that scrapes the
services. A scraper is one file of this package and one entry of `SCRAPERS`.

    with Observation(run, {"content": pid}, [PrometheusScraper("content", "content_server", url)]) as observation:
        ...
    for failure in observation.failures():
        ...
"""

from __future__ import annotations

from towtank.observe.gc_log import GcLogScraper
from towtank.observe.glusterfs import GlusterfsScraper
from towtank.observe.haproxy import HaproxyScraper
from towtank.observe.httpd import HttpdScraper
from towtank.observe.jetty import JettyScraper
from towtank.observe.mariadb import MariadbScraper
from towtank.observe.nginx import NginxScraper
from towtank.observe.observation import Observation
from towtank.observe.openldap import OpenldapScraper
from towtank.observe.postgresql import PostgresqlScraper
from towtank.observe.prometheus import PrometheusScraper
from towtank.observe.redis import RedisScraper
from towtank.observe.scraper import ScrapeError, Scraper
from towtank.observe.sqlite import SqliteScraper

SCRAPERS = {
    PrometheusScraper.source: PrometheusScraper,
    PostgresqlScraper.source: PostgresqlScraper,
    MariadbScraper.source: MariadbScraper,
    SqliteScraper.source: SqliteScraper,
    HttpdScraper.source: HttpdScraper,
    NginxScraper.source: NginxScraper,
    HaproxyScraper.source: HaproxyScraper,
    GlusterfsScraper.source: GlusterfsScraper,
    RedisScraper.source: RedisScraper,
    OpenldapScraper.source: OpenldapScraper,
    JettyScraper.source: JettyScraper,
    GcLogScraper.source: GcLogScraper,
}
"""Scraper classes, by the name of the source that they read (`Scraper.source`)."""

__all__ = [
    "SCRAPERS",
    "GcLogScraper",
    "GlusterfsScraper",
    "HaproxyScraper",
    "HttpdScraper",
    "JettyScraper",
    "MariadbScraper",
    "NginxScraper",
    "Observation",
    "OpenldapScraper",
    "PostgresqlScraper",
    "PrometheusScraper",
    "RedisScraper",
    "ScrapeError",
    "Scraper",
    "SqliteScraper",
]
