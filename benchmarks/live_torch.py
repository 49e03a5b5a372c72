"""Eight networks on Fashion-MNIST under one budget: test error of the one given back, above that of the best trained alone.

    python benchmarks/live_torch.py [--device cuda] [--budget 96] [--steps 25] [--seeds 5] [--csv FILE] [--data FOLDER]

A pull is ``--steps`` optimiser steps with batches of 128; pull s of every network sees the same batches. Networks are judged
after each pull by the share that they get wrong of the next 1,000 of 5,000 images held back, in evaluation mode: batch norm
and dropout flatter or harm a network on the batches that it learns. ``oracle`` trains each network alone with the whole
budget and keeps the best by test error, which no rule can know. Images lie on the device, and seconds are all of a rule's:
training, judging and deciding.
"""

import argparse
import gzip
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

import restsure as rs
from restsure.integrations.torch import TorchLearner, zero_one
from restsure.report.rows import write_rows

BATCH = 128
HELD_BACK, JUDGED = 5_000, 1_000  # images to judge on, and how many of them after a pull
POLICIES: dict[str, rs.Policy] = {
    "horizon": rs.HorizonLCB(),
    "halving": rs.SuccessiveHalving(),
    "round-robin": rs.RoundRobin(),
}


def convolution(inputs: int, outputs: int, *, stride: int = 1, norm: bool = False) -> nn.Sequential:
    layers = [nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=not norm)]
    return nn.Sequential(*layers, *([nn.BatchNorm2d(outputs)] if norm else []), nn.ReLU())


class Residual(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.inside = nn.Sequential(
            convolution(inputs, outputs, stride=stride, norm=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.beside = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.inside(x) + self.beside(x))


class Transformer(nn.Module):
    """Attention between the 49 patches of 4 x 4 pixels."""

    def __init__(self, width: int = 64, depth: int = 3):
        super().__init__()
        self.patches = nn.Conv2d(1, width, 4, stride=4)
        self.places = nn.Parameter(0.02 * torch.randn(49, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(x).flatten(2).transpose(1, 2) + self.places
        return self.head(self.layers(tokens).mean(1))


def networks(seed: int) -> dict[str, tuple[nn.Module, float]]:
    """By name, each with its learning rate: the quick ones lead early, and slow ones end best."""
    torch.manual_seed(seed)
    pool = nn.MaxPool2d(2)
    return {
        "linear": (nn.Sequential(nn.Flatten(), nn.Linear(784, 10)), 3e-3),
        "mlp": (nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), 3e-3),
        "mlp-wide": (
            nn.Sequential(
                nn.Flatten(), nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10)
            ),
            1e-4,
        ),
        "cnn": (
            nn.Sequential(convolution(1, 8, stride=2), convolution(8, 16, stride=2), nn.Flatten(), nn.Linear(784, 10)),
            3e-3,
        ),
        "cnn-wide": (
            nn.Sequential(
                *(convolution(1, 32), pool, convolution(32, 64), pool, nn.Flatten()),
                *(nn.Linear(3136, 256), nn.ReLU(), nn.Linear(256, 10)),
            ),
            3e-4,
        ),
        "cnn-deep": (
            nn.Sequential(
                *(convolution(1, 16, norm=True), convolution(16, 32, norm=True), pool),
                *(convolution(32, 64, norm=True), convolution(64, 64, norm=True), pool),
                *(convolution(64, 128, norm=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
            ),
            3e-4,
        ),
        "resnet": (
            nn.Sequential(
                *(convolution(1, 16, norm=True), Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2)),
                *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
            ),
            1e-3,
        ),
        "transformer": (Transformer(), 1e-3),
    }


class Batches:
    """Passes over images that lie on the device, each in an order of its own."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor, seed: int):
        self.x, self.y, self.generator = x, y, torch.Generator(x.device).manual_seed(seed)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        order = torch.randperm(len(self.y), generator=self.generator, device=self.x.device)
        for rows in order[: len(order) // BATCH * BATCH].split(BATCH):
            yield self.x[rows], self.y[rows]


class Task:
    """The images, and the candidates of one seed."""

    def __init__(self, data: Path, device: torch.device, steps: int):
        self.device, self.steps = device, steps
        (x, y), (self.x_test, self.y_test) = (self._images(data, part) for part in ("train", "t10k"))
        self.x, self.y = x[:-HELD_BACK], y[:-HELD_BACK]
        self.held_back = list(zip(x[-HELD_BACK:].split(JUDGED), y[-HELD_BACK:].split(JUDGED), strict=True))

    def _images(self, data: Path, part: str) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = (read_idx(data / f"{part}-{kind}-ubyte.gz") for kind in ("images-idx3", "labels-idx1"))
        images = (torch.tensor(x, dtype=torch.float32, device=self.device) / 255 - 0.286) / 0.353
        return images[:, None], torch.tensor(y, dtype=torch.int64, device=self.device)

    def candidates(self, seed: int) -> dict[str, TorchLearner]:
        batches, made = Batches(self.x, self.y, seed), {}
        for name, (model, rate) in networks(seed).items():
            model.to(self.device)
            adam = torch.optim.Adam(model.parameters(), lr=rate, fused=self.device.type == "cuda")
            how = {"validation": self.held_back, "score": zero_one}
            made[name] = TorchLearner(model, adam, nn.CrossEntropyLoss(), batches, steps=self.steps, **how)
        return made

    def error(self, model: nn.Module) -> float:
        """On the test set, in percent."""
        model.eval()
        with torch.inference_mode():
            parts = zip(self.x_test.split(250), self.y_test.split(250), strict=True)
            return 100 * torch.stack([zero_one(model(x), y) for x, y in parts]).mean().item()

    def clock(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()


def read_idx(path: Path) -> np.ndarray:
    with gzip.open(path) as file:
        raw = file.read()
    shape = [int.from_bytes(raw[at : at + 4]) for at in range(4, 4 + 4 * raw[3], 4)]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def one_seed(task: Task, seed: int, budget: int) -> dict[str, tuple[float, float, float, float]]:
    """For every rule: test accuracy, points above the oracle, seconds, pulls."""
    names, alone, began = list(networks(seed)), {}, task.clock()
    for name in names:
        start, learner = task.clock(), task.candidates(seed)[name]
        losses = learner.train(budget)
        alone[name] = task.error(learner.model)
        early = np.mean(losses[1 : 1 + len(losses) // len(names)])
        print(
            f"seed {seed}: {name:12} alone: {100 * early:5.2f} % wrong early, {alone[name]:5.2f} % in the test, "
            f"{task.clock() - start:.1f} s",
            flush=True,
        )
    oracle = min(alone.values())
    found = {"oracle": (100 - oracle, 0.0, task.clock() - began, float(budget * len(names)))}
    for label, policy in POLICIES.items():
        start = task.clock()
        result = rs.select(task.candidates(seed), budget=budget, policy=policy, random_state=seed, progress=False)
        took, error = task.clock() - start, task.error(result.model)
        found[label] = (100 - error, error - oracle, took, float(result.spent))
        print(
            f"seed {seed}: {label:12} returns {result.name} after {result.pulls[result.name]} of {result.spent} pulls: "
            f"{error:5.2f} % wrong, {error - oracle:.2f} points above the oracle, {took:.1f} s",
            *(f"\n  failed: {name}: {reason}" for name, reason in result.failures.items()),
            flush=True,
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=96, help="pulls in all")
    parser.add_argument("--steps", type=int, default=25, help="optimiser steps a pull")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    try:
        task = Task(options.data, torch.device(options.device), options.steps)
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} is missing: apt-get install dataset-fashion-mnist, or name the folder by --data")
    runs = [one_seed(task, seed, options.budget) for seed in range(options.seeds)]
    rows = []
    for label in runs[0]:
        values = np.array([run[label] for run in runs])
        mean, se = values.mean(0), values.std(0, ddof=min(1, len(runs) - 1)) / len(runs) ** 0.5
        print(
            f"{label:12} {mean[0]:5.2f} ± {se[0]:.2f} % right, {mean[1]:5.2f} ± {se[1]:.2f} points above the oracle, "
            f"{mean[2]:6.1f} s, {mean[3]:.0f} pulls"
        )
        rows.append([options.budget, options.steps, options.seeds, label, f"{mean[0]:.4g}", f"{se[0]:.3g}"])
        rows[-1] += [f"{mean[1]:.4g}", f"{se[1]:.3g}", f"{mean[2]:.3g}", f"{mean[3]:.0f}"]
    if options.csv:
        head = [
            "budget",
            "steps",
            "seeds",
            "policy",
            "test accuracy",
            "se of accuracy",
            "points above the oracle",
            "se",
        ]
        command = (
            f"python benchmarks/live_torch.py --budget {options.budget} --steps {options.steps} --seeds {options.seeds}"
        )
        write_rows(options.csv, [*head, "seconds", "pulls"], rows, command=command)


if __name__ == "__main__":
    main()
