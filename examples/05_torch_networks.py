"""Four PyTorch networks, one training budget: which of them should be trained, and how far?

    python examples/05_torch_networks.py

The networks read scikit-learn's handwritten digits. A pull is ten optimiser steps; 80 pulls in all are for the four together.
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import restsure as rs
from restsure.integrations.torch import TorchLearner, zero_one


def networks() -> dict[str, tuple[nn.Module, float]]:
    """By name, each with its learning rate."""
    return {
        "linear": (nn.Linear(64, 10), 1e-2),
        "narrow": (nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 10)), 1e-2),
        "timid": (nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)), 1e-4),
        "convolutions": (
            nn.Sequential(
                nn.Unflatten(1, (1, 8, 8)),
                *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
                *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten()),
                *(nn.Dropout(0.3), nn.Linear(512, 10)),
            ),
            1e-3,
        ),
    }


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # networks as small as these are faster so
    x, y = (torch.tensor(part) for part in load_digits(return_X_y=True))
    x, order = x.float() / 16, torch.randperm(len(y))
    train, test = order[:1_300], order[1_300:]
    loader = DataLoader(TensorDataset(x[train], y[train]), batch_size=32, shuffle=True)

    # A candidate is a network with its optimiser, the loss that is trained, and its batches. It is judged by the share of
    # digits it gets wrong, on each batch before it learns it.
    candidates = {
        name: TorchLearner(
            model,
            torch.optim.Adam(model.parameters(), lr=rate),
            nn.CrossEntropyLoss(),
            loader,
            steps=10,
            score=zero_one,
        )
        for name, (model, rate) in networks().items()
    }
    result = rs.select(candidates, budget=80)

    print(result)
    for name, pulls in result.pulls.items():
        print(
            f"  {name:12} {10 * pulls:4} optimiser steps, last losses {[round(v, 3) for v in result.history.losses(name)[-3:]]}"
        )
    print(result.explain())

    model = result.model.eval()  # trained, and left in training mode: dropout and batch norm must be told
    with torch.inference_mode():
        print(f"On digits it has not seen, {zero_one(model(x[test]), y[test]):.1%} are wrong.")


if __name__ == "__main__":
    main()
