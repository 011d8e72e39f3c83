"""Starts the services of a system under test, observes them, and stops them.

`service` defines a service, `build` registers the kinds of services, `services/` holds one file per kind. `system`
starts and stops a whole system, `process` runs one process under a guard, `keeper` keeps a system up without a study.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from towtank.doors import door

if TYPE_CHECKING:
    from towtank.system.command_files import files_of_commands as files_of_commands

__getattr__, __dir__ = door(__name__, {"command_files": "files_of_commands"})
