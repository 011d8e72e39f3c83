"""The list of files tracked by git, which the wheel, the site, `scripts/words` and `scripts/ratchet` use."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tracked import tracked

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    for name in ("README.md", "examples/a shop.py", "examples/deleted.py", "ä.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    (tmp_path / "examples" / "deleted.py").unlink()
    (tmp_path / "examples" / "notes.txt").write_text("left by an editor")
    return tmp_path


def test_untracked_and_deleted_files_are_left_out(repository: Path) -> None:
    assert list(map(str, tracked(repository))) == ["README.md", "examples/a shop.py", "ä.md"]
    assert list(map(str, tracked(repository, "*.md"))) == ["README.md", "ä.md"]
    assert list(map(str, tracked(repository / "examples"))) == ["a shop.py"]
    assert tracked(repository, "examples/notes.txt") == []


def test_a_repository_of_another_user_is_read(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert subprocess.run(["git", "-C", repository, "status"], capture_output=True, check=False).returncode != 0
    assert Path("README.md") in tracked(repository)


def test_a_folder_of_no_repository_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="must be a folder of a git repository"):
        tracked(tmp_path)


def test_the_site_publishes_no_untracked_file(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from site_building import pages  # noqa: PLC0415 - a package of the scripts

    published = tmp_path_factory.mktemp("pages")
    (repository / "README.md").write_text("[files](examples/) and [notes](examples/notes.txt)")
    monkeypatch.setattr(pages, "ROOT", repository)
    monkeypatch.setattr(pages, "PAGES", published)
    pages.copied()
    found = sorted(str(path.relative_to(published)) for path in published.rglob("*") if path.is_file())
    assert found == ["README.md", "examples/README.md", "examples/a shop.py", "ä.md"]
    assert "notes" not in (published / "examples" / "README.md").read_text()


def test_every_list_of_tracked_files_is_this_one() -> None:
    """Only `scripts/tracked.py` runs `git ls-files`; all other scripts use its list."""
    asking = [name for name in tracked(ROOT, "scripts", "tests/docs", "mkdocs.yml") if "ls-files" in text_of(name)]
    assert asking == [Path("scripts/tracked.py")]


def text_of(name: Path) -> str:
    return (ROOT / name).read_text("utf-8", "replace")
