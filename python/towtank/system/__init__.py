"""Starts the services of a system under test, observes them, and stops them.

The module `service` defines a service, `build` registers the kinds of services, and `services/` contains one module
for each kind. `system` starts and stops a whole system, `process` runs one process under a guard, and `keeper` runs a
system without a study.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.system.build import build_system as build_system
    from towtank.system.command_files import files_of_commands as files_of_commands
    from towtank.system.connection_scraper import ConnectionScraper as ConnectionScraper
    from towtank.system.copies import host_and_service_names as host_and_service_names
    from towtank.system.copies import host_copies as host_copies
    from towtank.system.host_model import HOST_PROVIDERS as HOST_PROVIDERS
    from towtank.system.host_model import NamespacesHost as NamespacesHost
    from towtank.system.host_model import SshHost as SshHost
    from towtank.system.hosts.cleaning import clean_dead as clean_dead
    from towtank.system.hosts.group import Hosts as Hosts
    from towtank.system.hosts.group import build_hosts as build_hosts
    from towtank.system.hosts.offers import examine_hosts as examine_hosts
    from towtank.system.hosts.prefix import host_of_group as host_of_group
    from towtank.system.keeper import bring_up as bring_up
    from towtank.system.keeper import describe_system as describe_system
    from towtank.system.keeper import take_down as take_down
    from towtank.system.listeners import SeenServer as SeenServer
    from towtank.system.listeners import is_descendant as is_descendant
    from towtank.system.listeners import is_this_machine as is_this_machine
    from towtank.system.listeners import listening_root as listening_root
    from towtank.system.listeners import servers_behind as servers_behind
    from towtank.system.model import SystemFile as SystemFile
    from towtank.system.model import Target as Target
    from towtank.system.model import check_system as check_system
    from towtank.system.model import check_system_tree as check_system_tree
    from towtank.system.model import check_system_tree_as_written as check_system_tree_as_written
    from towtank.system.model import load_system as load_system
    from towtank.system.offers import examine_services as examine_services
    from towtank.system.offers import offer_of as offer_of
    from towtank.system.packages import Download as Download
    from towtank.system.packages import Need as Need
    from towtank.system.packages import Package as Package
    from towtank.system.packages import needs_of as needs_of
    from towtank.system.packages import packages_of as packages_of
    from towtank.system.process import HostEntry as HostEntry
    from towtank.system.process import describe_status as describe_status
    from towtank.system.process import log_tail as log_tail
    from towtank.system.reach import refuses_unix as refuses_unix
    from towtank.system.reach import split_address as split_address
    from towtank.system.releases import Release as Release
    from towtank.system.running import process_facts as process_facts
    from towtank.system.running import program_name as program_name
    from towtank.system.scratch import make_scratch as make_scratch
    from towtank.system.service_model import SERVICE_KINDS as SERVICE_KINDS
    from towtank.system.state import system_states as system_states
    from towtank.system.storage_models import Mount as Mount
    from towtank.system.system import EndedService as EndedService
    from towtank.system.system import Endpoints as Endpoints
    from towtank.system.system import GeneratorPlace as GeneratorPlace
    from towtank.system.system import System as System

__getattr__, __dir__ = door(
    __name__,
    {
        "build": "build_system",
        "command_files": "files_of_commands",
        "connection_scraper": "ConnectionScraper",
        "copies": "host_and_service_names host_copies",
        "host_model": "HOST_PROVIDERS NamespacesHost SshHost",
        "hosts.cleaning": "clean_dead",
        "hosts.group": "Hosts build_hosts",
        "hosts.offers": "examine_hosts",
        "hosts.prefix": "host_of_group",
        "keeper": "bring_up describe_system take_down",
        "listeners": "SeenServer is_descendant is_this_machine listening_root servers_behind",
        "model": "SystemFile Target check_system check_system_tree check_system_tree_as_written load_system",
        "offers": "examine_services offer_of",
        "packages": "Download Need Package needs_of packages_of",
        "process": "HostEntry describe_status log_tail",
        "reach": "refuses_unix split_address",
        "releases": "Release",
        "running": "process_facts program_name",
        "scratch": "make_scratch",
        "service_model": "SERVICE_KINDS",
        "state": "system_states",
        "storage_models": "Mount",
        "system": "EndedService Endpoints GeneratorPlace System",
    },
)
