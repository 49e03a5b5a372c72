"""The documentation site, built as `make docs` builds it: whole, without a dead link, and without anything from elsewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]


class Reader(HTMLParser):
    """What a page loads, where its links lead, and the places in it that links can lead to."""

    def __init__(self, page: Path):
        super().__init__()
        self.loads, self.links, self.places = list[str](), list[str](), set[str]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a":
            self.links += [found["href"]] if "href" in found else []
        else:
            self.loads += [found[name] for name in ("src", "href", "data", "srcset", "poster") if name in found]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Reader]:
    found = {path: Reader(path) for path in site.rglob("*.html") if path.name != "404.html"}  # that one is for servers
    assert len(found) > 30
    return found


def test_links_lead_somewhere(site: Path, pages: dict[Path, Reader]) -> None:
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), (path.name, link)
            if parts.fragment and target in pages and not parts.fragment.startswith("__"):
                assert unquote(parts.fragment) in pages[target].places, (path.name, link)


def test_nothing_comes_from_elsewhere(site: Path, pages: dict[Path, Reader]) -> None:
    for path, page in pages.items():
        assert page.loads, path
        assert not [load for load in page.loads if urlsplit(load).netloc], path
        assert "mermaid" not in path.read_text()  # the theme's script would fetch another to draw it
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import\s+)[\"']?(https?:)?//", sheet.read_text()), sheet


def test_search_works_from_the_disk(site: Path, pages: dict[Path, Reader]) -> None:
    assert (site / "search" / "search_index.js").read_text().startswith("var __index = {")
    assert (site / "assets" / "iframe-worker.js").is_file()
    assert all(any(load.endswith("assets/iframe-worker.js") for load in page.loads) for page in pages.values())


def test_every_document_and_example_has_a_page(site: Path) -> None:
    outside = {"index", "security", "contributing", "changelog"}
    for name in outside | {path.stem for path in (ROOT / "docs").glob("*.md")}:
        assert (site / f"{name}.html").is_file(), name
    for script in (ROOT / "examples").glob("[0-9]*.py"):
        code = (site / "gallery" / f"{script.stem}.html").read_text()
        assert "restsure" in code, script
        assert code.count('<div class="highlight">') >= 2, script  # how to run it, and what it is


def test_reference_has_every_public_name(site: Path, pages: dict[Path, Reader]) -> None:
    rooms = [path for path in (site / "reference").glob("*.html") if path.stem not in ("index", "command_line")]
    assert len(rooms) > 15
    for path in rooms:
        module = import_module(f"restsure.{path.stem}")
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if callable(thing) and getattr(thing, "__doc__", None):
                assert f"{module.__name__}.{name}" in pages[path].places, (path.stem, name)
    text = (site / "reference" / "policies.html").read_text()
    assert ":meth:" not in text
    assert "&gt;&gt;&gt; </span>" in text  # doctests are code, not quotations


def test_reference_has_every_verb(site: Path) -> None:
    from restsure.cli import app

    text = (site / "reference" / "command_line.html").read_text()
    for command in app.registered_commands:
        assert f'id="restsure-{command.name}"' in text, command.name
    for option in ("--budget", "--json", "--csv", "DIR"):
        assert f"<code>{option}</code>" in text
    assert "as-json" not in text


def test_docstrings_become_markdown() -> None:
    file = ROOT / "docs" / "_site" / "docstrings.py"
    done = subprocess.run([sys.executable, "-m", "doctest", "-v", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Trying:\n    as_markdown(" in done.stdout
