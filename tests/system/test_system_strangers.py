"""Settings in a system file from an unknown source.

A setting must not add other directives to the configuration of its server, and must not disclose environment variables
of the machine.
"""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from towtank.system.host_model import SshHost
from towtank.system.mariadb_model import MariadbSettings
from towtank.system.postgresql_model import PostgresqlSettings
from towtank.system.repository_model import JvmSettings

pytestmark = pytest.mark.waits

OUT = "which gives access to files"
OWN = "which Towtank sets itself"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("archive_command", OUT),
        ("Archive_Command", OUT),
        ("session_preload_libraries", OUT),
        ("ssl_passphrase_command", OUT),
        ("dynamic_library_path", OUT),
        ("hba_file", OUT),
        ("SHARED_PRELOAD_LIBRARIES", OWN),
        ("Listen_Addresses", OWN),
    ],
)
def test_settings_of_postgresql_lead_nowhere_else(name: str, words: str) -> None:
    with pytest.raises(ValidationError, match=f"must not have {name}, {words}"):
        PostgresqlSettings(more={name: "id"})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plugin_dir", OUT),
        ("plugin_load_add", OUT),
        ("loose_plugin_load_ad", OUT),
        ("general_log_fil", OUT),
        ("maximum_general_log_file", OUT),
        ("init_connect", OUT),
        ("skip_grant_tables", OUT),
        ("skip_grant", OUT),
        ("wsrep_provider", OUT),
        ("secure_file_priv", OUT),
        ("loose_datadir", OWN),
        ("bind_addres", OUT),
    ],
)
def test_settings_of_mariadb_lead_nowhere_else(name: str, words: str) -> None:
    with pytest.raises(ValidationError, match=f"must not have {name}, {words}"):
        MariadbSettings(more={name: "x"})


def test_settings_that_tune_are_taken() -> None:
    tuned = {"long_query_time": 0.5, "log_output": "NONE", "query_cache_type": 1, "skip_innodb_stats_on_metadata": 1}
    assert MariadbSettings(more=tuned).more == tuned
    assert PostgresqlSettings(more={"log_statement": "all", "archive_mode": "off"}).more["archive_mode"] == "off"
    assert (
        JvmSettings(options=["-XX:MaxGCPauseMillis=50", "-Dcache=1", "-Xss1m"]).options[0] == "-XX:MaxGCPauseMillis=50"
    )


@pytest.mark.parametrize(
    "option",
    [
        "-XX:OnOutOfMemoryError=id",
        "-XX:OnError=id",
        "-Xrunjdwp:transport=dt_socket,server=y,address=*:8000",
        "-Xbootclasspath/a:/tmp/x.jar",
        "-XX:Flags=/tmp/flags",
        "-XX:VMOptionsFile=/tmp/flags",
        "-XX:HeapDumpPath=/etc/x",
        "-XX:+ManagementServer",
        "-Dcom.sun.management.jmxremote.port=9999",
        "-Djava.security.manager=x",
    ],
)
def test_options_of_the_jvm_lead_nowhere_else(option: str) -> None:
    with pytest.raises(ValidationError, match="gives no access to files, programs or ports"):
        JvmSettings(options=[option])


@pytest.mark.parametrize("name", ["AWS_SECRET_ACCESS_KEY", "towtank_word", "TOWTANK_", "XTOWTANK_A", "TOWTANK_A=B"])
def test_variables_that_are_sent_carry_a_prefix(name: str) -> None:
    with pytest.raises(ValidationError, match="must be the name of a variable that begins with TOWTANK_"):
        SshHost(provider="ssh", address="far.test", password_from=name)
    assert SshHost(provider="ssh", address="far.test", password_from="TOWTANK_FAR").password_from == "TOWTANK_FAR"
