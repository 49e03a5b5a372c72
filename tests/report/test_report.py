"""The report: one file that needs nothing else, in which names stay text."""

import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import restsure as rs
from restsure.cli import main
from restsure.report import assets
from tests.report.runs import HOSTILE, Curve, hostile, recorded


class Page(HTMLParser):
    """What a page is made of, as a parser sees it."""

    def __init__(self, page: str):
        super().__init__()
        self.tags = list[tuple[str, dict]]()
        self.scripts, self.texts, self.open = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append(tag)
        if tag == "script":
            self.scripts.append([dict(attributes), ""])

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += text
        elif self.open and self.open[-1] != "style":
            self.texts.append(text)

    def story(self) -> dict:
        return json.loads(next(text for attributes, text in self.scripts if attributes.get("id") == "story"))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("run"), candidates=hostile() | {"broken": Curve(0.1, fails_at=9)})


@pytest.fixture(scope="module")
def page(result, tmp_path_factory) -> Page:
    path = result.save_report(tmp_path_factory.mktemp("report") / "report.html")
    return Page(path.read_text(encoding="utf-8"))


def test_nothing_is_fetched_from_elsewhere(page: Page) -> None:
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert name not in ("src", "srcset", "action", "poster", "background"), (tag, name)
            assert name != "href" or value.startswith(("#", "data:")), (tag, value)
            assert not name.startswith("on")
    styles = assets.asset("page.css")
    assert "url(" not in styles
    assert "@import" not in styles


def test_a_strict_policy_names_every_script_and_style_by_its_hash(page: Page) -> None:
    [policy] = [
        a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    run = [text for attributes, text in page.scripts if attributes.get("type") != "application/json"]
    assert len(run) == 2  # plotly, once, and what draws
    for script in run:
        assert assets.digest(script) in policy
    assert sum("plotly.js (basic" in script for script in run) == 1


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE if kind != "surrogate"])
def test_hostile_names_are_text(page: Page, kind: str) -> None:
    name = HOSTILE[kind]
    assert name in [row["name"] for row in page.story()["candidates"]]
    assert name in page.texts
    assert not any(tag in ("img", "b") and "document" in str(attributes) for tag, attributes in page.tags)
    embedded = next(text for attributes, text in page.scripts if attributes.get("id") == "story")
    assert not re.search("[<>&\u2028\u2029]", embedded)


def test_names_are_kept_apart_from_the_direction_of_the_page(page: Page) -> None:
    assert sum(tag == "bdi" for tag, _ in page.tags) > 2 * len(HOSTILE)


def test_it_says_everything_without_javascript(page: Page, result) -> None:
    words = " ".join("".join(page.texts).split())
    assert " ".join(result.certificate.text.split()) in words
    assert str(result).removeprefix(result.name) in "".join(page.texts)
    for row in page.story()["candidates"]:
        assert f"{row['steps']:,}" in page.texts
    for line in page.story()["log"]:
        assert line["text"] in page.texts
    assert "broken: failed: ValueError: out of <memory>" in page.texts
    for label, value in page.story()["configuration"]:
        assert label in page.texts
        assert value in page.texts


def test_it_has_what_readers_of_screens_and_keyboards_need(page: Page) -> None:
    html = next(attributes for tag, attributes in page.tags if tag == "html")
    assert html["lang"] == "en"
    labelled = {a["for"] for tag, a in page.tags if tag == "label" and "for" in a}
    assert "budget" in labelled
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in page.tags:
        for name in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(name) is None or attributes[name] in ids


def test_of_a_result_without_a_directory_and_of_one_that_still_runs(tmp_path) -> None:
    result = rs.select({"a": lambda: 0.3, "b": lambda: 0.2}, budget=30, progress=False)
    assert result.save_report(tmp_path / "a.html") == tmp_path / "a.html"
    assert Page((tmp_path / "a.html").read_text()).story()["head"]["leader"] == 1
    with pytest.raises(rs.InvalidParameter, match="result: must come from"):
        replace(result, _records=()).save_report(tmp_path / "b.html")


def test_from_the_command_line(tmp_path, capsys) -> None:
    recorded(tmp_path / "run")
    with pytest.raises(SystemExit) as done:
        main(["report", str(tmp_path / "run"), "--output", str(tmp_path / "page.html")])
    assert done.value.code == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "page.html")
    assert Page((tmp_path / "page.html").read_text()).story()["head"]["title"] == "run"
    run = str(tmp_path / "run")
    for arguments in (
        [str(tmp_path)],
        [run, "-o", str(tmp_path)],
        [run, "-o", str(tmp_path / "nowhere" / "page.html")],
    ):
        with pytest.raises(SystemExit) as refused:
            main(["report", *arguments])
        assert refused.value.code == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_plotly_is_as_it_was_published() -> None:
    """What others wrote and nobody reads must be what they wrote: plotly.js-basic-dist-min 4.1.1."""
    published = "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
    assert hashlib.sha256(assets.asset(assets.PLOTLY).encode()).hexdigest() == published
