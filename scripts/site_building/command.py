"""Implements the command `scripts/site`."""

from __future__ import annotations

import os
import subprocess
import sys

from ruamel.yaml import YAML

from site_building.glossary import link_terms
from site_building.links import faults
from site_building.pages import PAGES, ROOT, boosted, copied, gallery, navigation

SITE = ROOT / "target" / "site"
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"


def main() -> int:
    """Build the site and print its faults; return 1 if there are any."""
    missing = copied()
    if missing:
        print("\n".join(missing), file=sys.stderr)
        return 1
    gallery()
    boosted()
    yaml = YAML()
    config = yaml.load(ROOT / "mkdocs.yml")
    config["nav"] = navigation()
    written = ROOT / "target" / "mkdocs.yml"
    config["docs_dir"], config["site_dir"] = str(PAGES), str(SITE)
    yaml.dump(config, written)
    # `--quiet` is not used, because it hides warnings from the count by which `--strict` fails.
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(written)],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        print(built.stderr, file=sys.stderr)
        return 1
    link_terms(SITE, SITE / GLOSSARY.relative_to(ROOT).with_suffix(".html"), GLOSSARY.read_text("utf-8"))
    found = faults(SITE)
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    print(f"{SITE / 'index.html'}: {len(list(SITE.rglob('*.html')))} pages")
    return 0
