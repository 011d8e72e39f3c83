"""Writes the configuration of one node of the CMIS repository, for Jackrabbit and Jetty."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from towtank.system.repository_model import CmisRepositorySettings

REPOSITORY = "content"
"""Name of the repository's workspace, which is also the identifier of the repository in CMIS. The content server uses
the same identifier.
"""

TEXT_FILE = "tika.xml"
"""File in the folder of each node with the content types whose text is indexed."""

_CORE = "org.apache.jackrabbit.core"
_DATABASE = "database"
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<!DOCTYPE Repository PUBLIC "-//The Apache Software Foundation//DTD Jackrabbit 2.0//EN" '
    '"http://jackrabbit.apache.org/dtd/repository-2.0.dtd">\n'
)
# Configuration that limits the full-text index to plain text, as in the content server. Extracting text from other
# documents would take too much CPU time.
_TIKA = """<?xml version="1.0" encoding="UTF-8"?>
<properties>
  <detectors><detector class="org.apache.tika.mime.MimeTypes"/></detectors>
  <parsers><parser class="org.apache.tika.parser.txt.TXTParser"/></parsers>
</properties>
"""
_JETTY_HEAD = (
    '<?xml version="1.0"?>\n'
    '<!DOCTYPE Configure PUBLIC "-//Jetty//Configure//EN" "http://www.eclipse.org/jetty/configure_9_3.dtd">\n'
)


def repository_xml(settings: CmisRepositorySettings, database: str, contents: Path, node: str | None) -> str:
    """Return Jackrabbit's configuration of one node as XML.

    All nodes share the folder for the contents of documents. `node` is the name of the node in the cluster; None for a
    repository without a cluster.
    """
    root = Element("Repository")
    _data_source(SubElement(root, "DataSources"), settings, database)
    _part(root, "FileSystem", f"{_CORE}.fs.local.LocalFileSystem", path="${rep.home}/repository")
    _part(
        root,
        "DataStore",
        f"{_CORE}.data.FileDataStore",
        path=str(contents),
        minRecordLength=settings.inline_below,
    )
    _security(root)
    SubElement(root, "Workspaces", rootPath="${rep.home}/workspaces", defaultWorkspace=REPOSITORY)
    workspace = SubElement(root, "Workspace", name="${wsp.name}")
    _storage(workspace, settings, "${wsp.home}", "workspace_")
    _index(workspace, "${wsp.home}/index")
    versions = SubElement(root, "Versioning", rootPath="${rep.home}/version")
    _storage(versions, settings, "${rep.home}/version", "version_")
    _index(root, "${rep.home}/repository/index")
    if node is not None:
        cluster = SubElement(root, "Cluster", id=node, syncDelay=str(round(1000 * settings.sync_delay)))
        _part(
            cluster,
            "Journal",
            f"{_CORE}.journal.DatabaseJournal",
            revision="${rep.home}/revision.log",
            dataSourceName=_DATABASE,
            schemaObjectPrefix="journal_",
        )
    ElementTree.indent(root)
    return _HEAD + ElementTree.tostring(root, "unicode") + "\n"


def _part(parent: Element, tag: str, class_name: str, **parameters: object) -> Element:
    made = SubElement(parent, tag, {"class": class_name})
    _parameters(made, parameters)
    return made


def _parameters(parent: Element, parameters: Mapping[str, object]) -> None:
    for name, value in parameters.items():
        SubElement(parent, "param", name=name, value=str(value))


def _index(parent: Element, folder: str) -> None:
    _part(
        parent,
        "SearchIndex",
        f"{_CORE}.query.lucene.SearchIndex",
        path=folder,
        tikaConfigPath="${rep.home}/" + TEXT_FILE,
    )


def _data_source(parent: Element, settings: CmisRepositorySettings, database: str) -> None:
    parts = urlsplit(database)
    _parameters(
        SubElement(parent, "DataSource", name=_DATABASE),
        {
            "driver": "org.postgresql.Driver",
            "url": f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}",
            "user": parts.username or "",
            "password": parts.password or "",
            "databaseType": "postgresql",
            "maxPoolSize": settings.database_pool,
        },
    )


def _security(root: Element) -> None:
    """Add an element by which the repository accepts any user and password."""
    simple = f"{_CORE}.security.simple"
    made = SubElement(root, "Security", appName="Jackrabbit")
    SubElement(made, "SecurityManager", {"class": f"{simple}.SimpleSecurityManager", "workspaceName": REPOSITORY})
    _part(made, "AccessManager", f"{simple}.SimpleAccessManager")
    _part(made, "LoginModule", f"{simple}.SimpleLoginModule")


def _storage(parent: Element, settings: CmisRepositorySettings, folder: str, prefix: str) -> None:
    _part(parent, "FileSystem", f"{_CORE}.fs.local.LocalFileSystem", path=folder)
    _part(
        parent,
        "PersistenceManager",
        f"{_CORE}.persistence.pool.PostgreSQLPersistenceManager",
        dataSourceName=_DATABASE,
        schemaObjectPrefix=prefix,
        bundleCacheSize=settings.bundle_cache // 2**20,
    )


def text_xml() -> str:
    return _TIKA


def jetty_xml(settings: CmisRepositorySettings) -> str:
    """Return the configuration of Jetty's thread pool, which no command-line option can set."""
    root = Element("Configure", {"id": "Server", "class": "org.eclipse.jetty.server.Server"})
    SubElement(SubElement(root, "Get", name="ThreadPool"), "Set", name="maxThreads").text = str(settings.threads)
    ElementTree.indent(root)
    return _JETTY_HEAD + ElementTree.tostring(root, "unicode") + "\n"
