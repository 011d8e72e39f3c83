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
    from towtank.observe.gc_log import GcLogScraper
    from towtank.observe.glusterfs import GlusterfsScraper
    from towtank.observe.haproxy import HaproxyScraper
    from towtank.observe.host import host_facts
    from towtank.observe.httpd import HttpdScraper
    from towtank.observe.jetty import JettyScraper
    from towtank.observe.mariadb import MariadbScraper
    from towtank.observe.nginx import NginxScraper
    from towtank.observe.observation import Observation
    from towtank.observe.offers import Offer, examine_machine
    from towtank.observe.openldap import OpenldapScraper
    from towtank.observe.postgresql import PostgresqlScraper
    from towtank.observe.prometheus import PrometheusScraper
    from towtank.observe.redis import RedisScraper, ask_redis
    from towtank.observe.scraper import ScrapeError, Scraper, series_name
    from towtank.observe.scraping import ScrapingThread
    from towtank.observe.sqlite import SqliteScraper

__getattr__, __dir__ = door(__name__)
