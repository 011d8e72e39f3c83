"""Starts the services of a system under test, observes them, and stops them.

The module `service` defines a service, `build` registers the kinds of services, and `services/` contains one module
for each kind. `system` starts and stops a whole system, `process` runs one process under a guard, and `keeper` runs a
system without a study.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.system.build import build_system
    from towtank.system.command_files import files_of_commands
    from towtank.system.connection_scraper import ConnectionScraper
    from towtank.system.copies import host_and_service_names, host_copies
    from towtank.system.host_model import HOST_PROVIDERS, NamespacesHost, SshHost
    from towtank.system.hosts.cleaning import clean_dead
    from towtank.system.hosts.group import Hosts, build_hosts
    from towtank.system.hosts.offers import examine_hosts
    from towtank.system.hosts.prefix import host_of_group
    from towtank.system.keeper import bring_up, describe_system, take_down
    from towtank.system.listeners import SeenServer, is_descendant, is_this_machine, listening_root, servers_behind
    from towtank.system.model import (
        SystemFile,
        Target,
        check_system,
        check_system_tree,
        check_system_tree_as_written,
        load_system,
    )
    from towtank.system.offers import examine_services, offer_of
    from towtank.system.packages import Download, Need, Package, needs_of, packages_of
    from towtank.system.process import HostEntry, describe_status, log_tail
    from towtank.system.reach import refuses_unix, split_address
    from towtank.system.releases import Release
    from towtank.system.running import process_facts, program_name
    from towtank.system.scratch import make_scratch
    from towtank.system.service_model import SERVICE_KINDS
    from towtank.system.state import system_states
    from towtank.system.storage_models import Mount
    from towtank.system.system import EndedService, Endpoints, GeneratorPlace, System

__getattr__, __dir__ = door(__name__)
