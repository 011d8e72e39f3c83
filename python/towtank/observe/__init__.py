"""Samples a system under load, and scrapes its services; all time stamps are on the clock of the load generator.

`Observation` starts the engine's probe, which samples the host and groups of processes, and one thread that scrapes
the services. To add a scraper, add one module to this package and one entry to the table of names below.

    with Observation(run, {"content": pid}, [PrometheusScraper("content", "content_server", url)]) as observation:
        ...
    for failure in observation.failures():
        ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.observe.gc_log import GcLogScraper as GcLogScraper
    from towtank.observe.glusterfs import GlusterfsScraper as GlusterfsScraper
    from towtank.observe.haproxy import HaproxyScraper as HaproxyScraper
    from towtank.observe.host import host_facts as host_facts
    from towtank.observe.httpd import HttpdScraper as HttpdScraper
    from towtank.observe.jetty import JettyScraper as JettyScraper
    from towtank.observe.mariadb import MariadbScraper as MariadbScraper
    from towtank.observe.nginx import NginxScraper as NginxScraper
    from towtank.observe.observation import Observation as Observation
    from towtank.observe.offers import Offer as Offer
    from towtank.observe.offers import examine_machine as examine_machine
    from towtank.observe.openldap import OpenldapScraper as OpenldapScraper
    from towtank.observe.postgresql import PostgresqlScraper as PostgresqlScraper
    from towtank.observe.prometheus import PrometheusScraper as PrometheusScraper
    from towtank.observe.redis import RedisScraper as RedisScraper
    from towtank.observe.redis import ask_redis as ask_redis
    from towtank.observe.scraper import ScrapeError as ScrapeError
    from towtank.observe.scraper import Scraper as Scraper
    from towtank.observe.scraper import series_name as series_name
    from towtank.observe.scraping import ScrapingThread as ScrapingThread
    from towtank.observe.sqlite import SqliteScraper as SqliteScraper

__getattr__, __dir__ = door(
    __name__,
    {
        "gc_log": "GcLogScraper",
        "glusterfs": "GlusterfsScraper",
        "haproxy": "HaproxyScraper",
        "host": "host_facts",
        "httpd": "HttpdScraper",
        "jetty": "JettyScraper",
        "mariadb": "MariadbScraper",
        "nginx": "NginxScraper",
        "observation": "Observation",
        "offers": "Offer examine_machine",
        "openldap": "OpenldapScraper",
        "postgresql": "PostgresqlScraper",
        "prometheus": "PrometheusScraper",
        "redis": "RedisScraper ask_redis",
        "scraper": "ScrapeError Scraper series_name",
        "scraping": "ScrapingThread",
        "sqlite": "SqliteScraper",
    },
)
