from __future__ import annotations

import subprocess
import sys

from towtank import filecheck
from towtank.model.file import SCHEMA as MODEL
from towtank.record.script import SCHEMA as BROWSER_SCRIPT
from towtank.sizing.machine_file import SCHEMA as MACHINE
from towtank.sizing.rules.file import SCHEMA as RULES
from towtank.sizing.rules.file import SHEET_SCHEMA as SHEET
from towtank.sizing.sizing_file import SCHEMA as SIZING
from towtank.study.model import SCHEMA as STUDY
from towtank.system.model import SCHEMA as SYSTEM
from towtank.workload.model import SCHEMA as WORKLOAD


def test_every_kind_of_file_is_known_by_its_schema() -> None:
    known = {STUDY, WORKLOAD, SYSTEM, BROWSER_SCRIPT, MODEL, MACHINE, SIZING, RULES, SHEET}
    assert set(filecheck.SCHEMAS) == known
    assert len(filecheck.SCHEMAS) == len(known)


def test_a_check_imports_no_kind_before_it_knows_the_kind() -> None:
    program = "import sys, towtank.filecheck; print(*(name for name in sys.modules if name.startswith('towtank.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    rooms = {name.split(".")[1] for name in done.stdout.split()}
    assert not rooms & {"analysis", "conduct", "model", "record", "report", "size", "study", "system", "workload"}
