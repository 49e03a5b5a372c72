"""Pages that lie outside docs/, and links that fit both the repository and the site."""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]

OUTSIDE = {
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "gallery/index.md",
    "CITATION.cff": "CITATION.cff",
    "LICENSE": "LICENSE.txt",
    "docs/_site/style.css": "assets/style.css",
    "docs/_site/iframe-worker.js": "assets/iframe-worker.js",
}
"""Files of the repository -> where they are on the site; docs/ is its top."""

SETTINGS: dict[str, dict[str, Any]] = {
    "index.md": {"hide": ["navigation"]},
    "benchmarks.md": {
        "hide": ["navigation"],
        "search": {"boost": 0.3},
    },  # wide tables, which have every word many times
    "changelog.md": {"search": {"boost": 0.3}},
}
"""What the theme is told of a page; the pages themselves are read elsewhere too, and have no head."""

_FROM = {there: here for here, there in OUTSIDE.items()}
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]\n]*)\]\((?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
_PICTURE = re.compile(r"<!-- picture: (\S+) -->")
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Take in the pages from outside."""
    for here, there in OUTSIDE.items():
        files.append(File.generated(config, there, content=(ROOT / here).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Links as they are in the repository become links of the site."""
    there = page.file.src_uri
    page.meta.update(SETTINGS.get(there, {}))
    if there.startswith("reference/"):
        return markdown
    folder = posixpath.dirname(_FROM.get(there, f"docs/{there}"))
    markdown = _PICTURE.sub(lambda found: _picture(found[1], there, files), markdown)
    parts = _FENCE.split(markdown)  # code is every second one
    parts[::2] = [_LINK.sub(lambda link: _moved(link, folder, there, files), part) for part in parts[::2]]
    return "".join(parts)


def _picture(name: str, page: str, files: Files) -> str:
    """A picture of the gallery, which is drawn when the site is built, in the place that a page has for it."""
    place = f"gallery/{name}"
    if files.get_file_from_path(place) is None:
        raise PluginError(f"{page}: no example draws {name}")
    words = Path(name).stem.partition("_")[2].replace("_", " ")
    return f"![{words}]({posixpath.relpath(place, posixpath.dirname(page) or '.')})"


def _moved(link: re.Match[str], folder: str, page: str, files: Files) -> str:
    """A link to a page of the site, or the path of a file of the repository that is not on it; others stay, to be refused."""
    path = posixpath.normpath(posixpath.join(folder, link["target"]))
    there = _place(path)
    if files.get_file_from_path(there) is not None:
        target = posixpath.relpath(there, posixpath.dirname(page) or ".")
        return f"{link['image']}[{link['text']}]({target}{link['anchor'] or ''})"
    if (ROOT / path).is_file():
        return link["text"] if path in link["text"] else f"{link['text']} (`{path}`)"
    return link[0]


def _place(path: str) -> str:
    """Where a file of the repository is on the site."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if example := re.fullmatch(r"examples/(\w+)\.py", path):
        return f"gallery/{example[1]}.md"
    return path.removeprefix("docs/")
