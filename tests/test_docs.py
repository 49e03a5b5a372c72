"""What the documents say is true: code runs, files and names exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    (page.name, block) for page in PAGES for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
]


@pytest.mark.parametrize("page", sorted({page for page, _ in BLOCKS}))
def test_code_in_documents_runs(page: str, tmp_path: Path) -> None:
    """All of a page, from top to bottom. Warnings are printed and not raised: raised, they would fail a candidate unseen."""
    code = "\n".join(block for name, block in BLOCKS if name == page)
    command = [sys.executable, "-W", "default", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), page


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0, r"network: loss 0(\.0\d+)? \(.*\) after [12]\d\d of 300 training steps, among 3 candidates\n"),
        (1, r"candidate 2: loss 0\.0\d\d after 1,[6-9]\d\d of 2,000 steps\n"),
    ],
)
def test_readme_shows_right_answers(number: int, printed: str, tmp_path: Path) -> None:
    block = [block for page, block in BLOCKS if page == "README.md"][number]
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert re.fullmatch(printed, done.stdout)


def test_paper_map_names_files_and_things_that_exist() -> None:
    page = (ROOT / "docs" / "paper_map.md").read_text()
    source = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
    files = set(re.findall(r"`((?:[\w]+/)*[\w]+\.py)`", page))
    assert len(files) > 25
    for name in files:
        places = [ROOT / "src" / "restsure" / name, ROOT / "tests" / name, ROOT / name]
        assert any(place.is_file() for place in places), name
    rows = re.findall(r"^\| [^|]+ \| `([A-Za-z_]\w+(?:\.\w+)?)`", page, re.MULTILINE)
    assert len(rows) > 20
    for name in rows:
        assert re.search(rf"\b{name.split('.')[-1]}\b", source), name


def test_links_between_documents() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page.name, target)


def test_version_is_the_same_everywhere() -> None:
    import restsure

    assert f"version: {restsure.__version__}" in (ROOT / "CITATION.cff").read_text()


def test_benchmark_page_is_generated() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "page.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
