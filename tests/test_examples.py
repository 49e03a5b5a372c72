"""Examples run as a newcomer would run them: without a warning, and what they claim comes out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples"
EXAMPLES = sorted(file.name for file in FOLDER.glob("*.py"))

CLAIMS = {
    "01_text_stream.py": r": loss 0\.1\d* .* of 200 training steps.*nobody has read, [12]?\d% are wrong",
    "02_regression.py": (
        r"^splines: loss 1\.[23].* of 30 training steps.*"
        r"^network: loss 0\.9.* of 200 training steps.*"
        r"^network: loss 0\.8.* of 400 training steps"
    ),
    "03_imbalanced.py": (
        r"By zero_one, Bayes: .* 3\.\d% wrong, [56]\d% of the positives missed.*"
        r"By balanced, Bayes at even odds: .* 1\d\.\d% wrong, [12]\d% of the positives missed"
    ),
    "04_boosting_rounds.py": (
        r"Without validation, (?!boosted stumps)[\w ]+: loss 0 .*: (9|1\d)\.\d% of a test set are wrong.*"
        r"With validation, boosted stumps: loss 0\.06.*: [5-7]\.\d% of a test set are wrong"
    ),
    "05_torch_networks.py": r"^convolutions: loss 0.*On digits it has not seen, [0-3]\.\d% are wrong",
    "06_budget_in_seconds.py": (
        r"^60 steps.*  (large|huge) network: loss.*^2 seconds:\n  (small|large) network: loss.*"
        r"planned 2 seconds, spent (1\.[89]|[2-4]\.\d).*huge network +\d\d? steps of +\d+\.\d ms"
    ),
    "07_own_loop.py": (
        r"Arm 0 is next: .*arm 3: failed: diverged.*Rate 0\.1: loss 0\.01.*"
        r"the same steps for each: True.*'rate 10\.0': 'FloatingPointError: diverged"
    ),
    "08_scikit_learn_pipeline.py": (
        r"Best of 4, 9\d\.\d% right.*network: loss 0\.0.*On digits held back from all that, 9\d\.\d% are right"
    ),
    "09_river_stream.py": (
        r"^500 updates.*halving +Accuracy: 82\.\d.*selective +Accuracy: 84\.\d[^\n]*KNNClassifier\n.*"
        r"^2300 updates.*halving +Accuracy: 87\.\d.*selective +Accuracy: 82\.\d[^\n]*KNNClassifier\n"
    ),
    "10_a_run_that_survives.py": (
        r"hangs failed: .* was stopped after .*pull_timeout_s.*crashes failed: .*signal 11 \(SIGSEGV\).*"
        r"killed after [2-9]\d steps\nkilled after 1[2-9]\d steps\n.*losses and winner: True"
    ),
    "11_optuna.py": (
        r"^NopPruner +300 steps, [56]\.\d% wrong.*^HorizonPruner +[12]\d\d steps, [56]\.\d% wrong\n"
        r"Trial \d+ is predicted to end with .* or better is out of its reach\..*"
        r"^Paused and resumed, trial \d+: value 0\.0[34]\d* after \d+ of 120 steps.*, [34]\.\d% wrong: the network itself"
    ),
    "12_tracking.py": (
        r"^TensorBoard: Bayes, wrong, bayes, linear_averaged, network, perceptron\n"
        r"MLflow: Bayes, wrong: FAILED, 0 steps.*MLflow: linear/averaged: FINISHED, [12]\d\d steps.*"
        r"five classifiers: FINISHED, the winner is linear/averaged"
    ),
    "13_ray_cluster.py": (
        r"^logistic: loss 0\.08.* of 150 training steps.*"
        r"( the actor of this candidate died: [^\n]*; restart 1 of 2\n.*){2}losses and winner: True"
    ),
    "14_ray_tune.py": r"\n240 in all; .*\nWidth 64, rate 0\.\d+: accuracy 0\.9[5-9]\d\n.* (\d+) passes",
    "15_pictures.py": (
        r"^network, 256: loss 0\.00.* of 600 training steps, among 8 candidates, of which Bayes, breaks failed\n"
        r"Drawn: 1_run, 2_curves, 3_outlook, 4_ribbon, 5_what_if, 6_scores\n"
    ),
    "16_boosters.py": (
        r"^CatBoost 0\.1: loss 0\.5.* of 120 training steps.*CatBoost 0\.1 +3\d\d rounds, loss 1\.2\d+ at first.*"
        r"LightGBM 0\.5 .* loss 0\.7\d+ at first.*1[89]\.\d% of a test set are wrong"
    ),
}


def run(name: str, folder: Path, **settings: str) -> str:
    """What it prints. Warnings are shown and not raised: `select` would take one that is raised for a failed candidate."""
    done = subprocess.run(
        [sys.executable, "-W", "default", FOLDER / name],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_does_what_it_claims(name: str, tmp_path: Path) -> None:
    assert name in CLAIMS, "say in CLAIMS what this example shows"
    assert re.search(CLAIMS[name], run(name, tmp_path), re.DOTALL | re.MULTILINE)
    assert not list(tmp_path.iterdir())


def test_example_is_repeatable(tmp_path: Path) -> None:
    once, again = (run("01_text_stream.py", tmp_path, PYTHONHASHSEED=seed) for seed in "12")
    assert once == again


def test_examples_are_numbered_and_listed() -> None:
    assert [name[:3] for name in EXAMPLES] == [f"{number:02}_" for number in range(1, len(EXAMPLES) + 1)]
    listed = re.findall(r"^- \[(.+)\]\(\1\): .", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert listed == EXAMPLES
