"""Builds the web application of the CMIS repository from fixed versions of its files, and stores it in the cache.

OpenCMIS publishes its adapter to JCR as a web application, and Jackrabbit publishes its libraries as another one. The
application built here contains libraries of both, the PostgreSQL driver, and two classes that are compiled from
`system/java`. Of the protocols of CMIS, only the Browser Binding is enabled.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from towtank.errors import TargetError
from towtank.system.downloads import Artefact, cache_folder, place_of
from towtank.system.services.private_server import find_program

OPENCMIS = Artefact(
    "org.apache.chemistry.opencmis",
    "chemistry-opencmis-server-jcr",
    "0.11.0",
    "war",
    "cad2ccc6b523e899e375de0d742ceafc6f0e2a4cdb6edc330f24e8c8781a8fca",
    7289149,
)
JACKRABBIT = Artefact(
    "org.apache.jackrabbit",
    "jackrabbit-webapp",
    "2.20.17",
    "war",
    "7ac589285a22833cee4dae0dafbbee0e1359782a32cdb1e7938aeb28b0eb1801",
    49801575,
)
JETTY = Artefact(
    "org.eclipse.jetty",
    "jetty-runner",
    "9.4.57.v20241219",
    "jar",
    "f63fbee00a06f04a3f715267d5d53ba4389b5b3e9ecc6168d8b73d81243a883f",
    13350009,
)
DATABASE_DRIVER = Artefact(
    "org.postgresql",
    "postgresql",
    "42.7.7",
    "jar",
    "157963d60ae66d607e09466e8c0cdf8087e9cb20d0159899ffca96bca2528460",
    1098916,
)
ARTEFACTS = (OPENCMIS, JACKRABBIT, JETTY, DATABASE_DRIVER)

SOURCES = Path(__file__).parents[1] / "java"
# Libraries of OpenCMIS that are used. The others are for SOAP, or Jackrabbit contains newer versions of them.
_OF_OPENCMIS = (
    "antlr-2",
    "antlr-runtime-3.5",
    "chemistry-opencmis-",
    "commons-collections-",
    "commons-lang-",
    "mimepull-",
    "stax2-api-",
    "stringtemplate-3.2.1",
    "woodstox-core-",
)
# Libraries of Jackrabbit's default database, which PostgreSQL replaces.
_NOT_OF_JACKRABBIT = ("derby-",)
_LIBRARIES = "WEB-INF/lib/"
_COMPILE_WITHIN_S = 120.0
_DESCRIPTOR = """<?xml version="1.0" encoding="UTF-8"?>
<web-app version="2.4" xmlns="http://java.sun.com/xml/ns/j2ee">
  <listener>
    <listener-class>org.apache.chemistry.opencmis.server.impl.CmisRepositoryContextListener</listener-class>
  </listener>
  <servlet>
    <servlet-name>browser</servlet-name>
    <servlet-class>org.apache.chemistry.opencmis.server.impl.browser.CmisBrowserBindingServlet</servlet-class>
    <init-param>
      <param-name>callContextHandler</param-name>
      <param-value>org.apache.chemistry.opencmis.server.shared.BasicAuthCallContextHandler</param-value>
    </init-param>
    <load-on-startup>1</load-on-startup>
  </servlet>
  <servlet-mapping>
    <servlet-name>browser</servlet-name>
    <url-pattern>/browser/*</url-pattern>
  </servlet-mapping>
  <servlet>
    <servlet-name>statistics</servlet-name>
    <servlet-class>org.eclipse.jetty.servlet.StatisticsServlet</servlet-class>
    <init-param>
      <param-name>restrictToLocalhost</param-name>
      <param-value>false</param-value>
    </init-param>
  </servlet>
  <servlet-mapping>
    <servlet-name>statistics</servlet-name>
    <url-pattern>/statistics</url-pattern>
  </servlet-mapping>
</web-app>
"""
# Configuration that gives the application access to Jetty's statistics servlet, a class that Jetty hides by default.
# The statistics page of `jetty-runner` is not used, because it serves only requests from the same machine.
_JETTY_WEB = """<?xml version="1.0"?>
<!DOCTYPE Configure PUBLIC "-//Jetty//Configure//EN" "http://www.eclipse.org/jetty/configure_9_3.dtd">
<Configure class="org.eclipse.jetty.webapp.WebAppContext">
  <Call name="prependServerClass"><Arg>-org.eclipse.jetty.servlet.StatisticsServlet</Arg></Call>
</Configure>
"""
_LOGGING = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss.SSS} %-5level %logger{36} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""
_REPOSITORY = "class=towtank.OpenRepository\nmount-path=/\n"


def application_folder() -> Path:
    """Return the folder of the web application, named by a hash of the files it is built from."""
    parts = [artefact.sha256 for artefact in ARTEFACTS] + [
        _DESCRIPTOR,
        _JETTY_WEB,
        _LOGGING,
        _REPOSITORY,
        *_OF_OPENCMIS,
    ]
    parts += [source.read_text("utf-8") for source in _sources()]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return cache_folder() / "built" / f"cmis-repository-{digest[:16]}"


def _sources() -> list[Path]:
    return sorted(SOURCES.rglob("*.java"))


def build_application() -> Path:
    """Build the web application of the CMIS repository, unless it is in the cache.

    Returns
    -------
    Path
        Folder of the web application.

    Raises
    ------
    TargetError
        If the web application cannot be built.
    """
    folder = application_folder()
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=folder.parent) as name:
        made = Path(name) / "application"
        _write(made)
        try:
            made.rename(folder)
        except OSError:
            # If the folder exists, another process has built the same application in the meantime.
            if not folder.is_dir():
                raise
    return folder


def _write(folder: Path) -> None:
    libraries, classes = folder / _LIBRARIES, folder / "WEB-INF" / "classes"
    libraries.mkdir(parents=True)
    classes.mkdir()
    _unpack(OPENCMIS, libraries, lambda library: library.startswith(_OF_OPENCMIS))
    _unpack(JACKRABBIT, libraries, lambda library: not library.startswith(_NOT_OF_JACKRABBIT))
    shutil.copy(place_of(DATABASE_DRIVER), libraries)
    (folder / "WEB-INF" / "web.xml").write_text(_DESCRIPTOR, "utf-8")
    (folder / "WEB-INF" / "jetty-web.xml").write_text(_JETTY_WEB, "utf-8")
    (classes / "logback.xml").write_text(_LOGGING, "utf-8")
    (classes / "repository.properties").write_text(_REPOSITORY, "utf-8")
    _compile(libraries, classes)


def _unpack(artefact: Artefact, target: Path, wanted: Callable[[str], bool]) -> None:
    """Extract into a folder the libraries of a web application for which `wanted` returns True."""
    with zipfile.ZipFile(place_of(artefact)) as archive:
        for member in archive.namelist():
            library = member.removeprefix(_LIBRARIES)
            if member.startswith(_LIBRARIES) and library and "/" not in library and wanted(library):
                (target / library).write_bytes(archive.read(member))


def _compile(libraries: Path, classes: Path) -> None:
    compiler = find_program("javac")
    if compiler is None:
        raise TargetError("javac is not installed, so that the application cannot be compiled")
    sources = [str(source) for source in _sources()]
    command = [compiler, "--release", "11", "-nowarn", "-cp", f"{libraries}/*", "-d", str(classes), *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMPILE_WITHIN_S)
    if done.returncode != 0:
        raise TargetError(f"javac ended with status {done.returncode}: {done.stderr.strip()[:2000]}")
