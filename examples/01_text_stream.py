"""Text that comes as a stream: which package of Python's standard library is a paragraph of source code from?

    python examples/01_text_stream.py

The candidates take raw text: words or pieces of words, hashed, and a model that learns batch by batch. The data is a
generator that nobody can look through beforehand, and so `classes=` tells which packages there are.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from sysconfig import get_path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

import restsure as rs

PACKAGES = ["asyncio", "email", "http", "importlib", "json", "logging", "multiprocessing", "unittest", "urllib", "xml"]


def paragraphs(package: str) -> Iterator[tuple[str, str]]:
    """What stands between blank lines in its files, with the name of the package taken out, and that name."""
    folder = Path(get_path("stdlib"), package)
    for path in sorted(folder.rglob("*.py")):
        if not path.is_relative_to(folder / "test"):
            for text in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
                if len(text) > 80:
                    yield text.replace(package, ""), package


def batches(size: int) -> Iterator[tuple[list[str], list[str]]]:
    """Paragraphs of all packages in random order: in the place of a queue, a feed, or a file on another machine."""
    rows = [row for package in PACKAGES for row in paragraphs(package)]
    random.Random(0).shuffle(rows)
    for start in range(0, len(rows), size):
        texts, labels = zip(*rows[start : start + size], strict=True)
        yield list(texts), list(labels)


def main() -> None:
    hashed = {  # without alternate signs no feature is negative, which naive Bayes could not take
        "words": HashingVectorizer(alternate_sign=False, n_features=2**16),
        "pieces": HashingVectorizer(alternate_sign=False, n_features=2**16, analyzer="char_wb", ngram_range=(3, 4)),
    }
    models = {"Bayes": MultinomialNB(alpha=0.01), "SVM": SGDClassifier(random_state=0), "perceptron": Perceptron()}
    candidates = {f"{text}, {name}": make_pipeline(hashed[text], models[name]) for text in hashed for name in models}

    # Some 240 batches: more than any candidate can have of the budget, so that each is new when it comes. They are kept
    # for candidates that are behind; a sequence that makes batch s when it is asked for data[s] is kept nowhere.
    stream = batches(32)
    result = rs.select(candidates, stream, budget=200, classes=PACKAGES)

    print(result)
    for name, pulls in result.pulls.items():
        losses = result.history.losses(name)
        first, last = np.mean(losses[:5]), np.mean(losses[-10:])
        print(f"  {name:19}{pulls:4} batches, wrong {first:4.0%} at first, {last:4.0%} at last")
    wrong = [np.mean(result.model.predict(texts) != np.array(labels)) for texts, labels in stream]
    print(f"In the {len(wrong)} batches left in the stream, which nobody has read, {np.mean(wrong):.0%} are wrong.")


if __name__ == "__main__":
    main()
