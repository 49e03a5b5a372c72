"""Real networks through ``select``: trained, judged before they learn, saved and loaded to the bit."""

import json
import os
import pickle
import subprocess
import sys
from collections import Counter, namedtuple
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

import restsure as rs
from restsure.integrations.tensor_file import read_tensors, write_tensors
from restsure.integrations.torch import TorchLearner, zero_one

_X, _Y = load_digits(return_X_y=True)
_ORDER = torch.randperm(len(_Y), generator=torch.Generator().manual_seed(0))
X, Y = torch.tensor(_X, dtype=torch.float32)[_ORDER] / 16, torch.tensor(_Y)[_ORDER]
TRAIN, TEST = TensorDataset(X[:1400], Y[:1400]), (X[1400:], Y[1400:])


def shuffled(seed: int = 0, **options: Any) -> DataLoader:
    return DataLoader(TRAIN, batch_size=32, shuffle=True, generator=torch.Generator().manual_seed(seed), **options)


def network(hidden: int = 64, dropout: float = 0.0) -> nn.Module:
    return nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, 10))


def learner(model: nn.Module, *, rate: float = 3e-3, loader: Any = None, **options: Any) -> TorchLearner:
    adam = torch.optim.Adam(model.parameters(), lr=rate)
    return TorchLearner(model, adam, nn.CrossEntropyLoss(), shuffled() if loader is None else loader, **options)


def candidates(seed: int = 0) -> dict[str, TorchLearner]:
    torch.manual_seed(seed)
    loader = shuffled(seed)
    return {
        "linear": learner(nn.Linear(64, 10), rate=1e-3, loader=loader, steps=5, score=zero_one),
        "slow": learner(network(), rate=1e-5, loader=loader, steps=5, score=zero_one),
        "network": learner(network(), rate=3e-3, loader=loader, steps=5, score=zero_one),
        "dropout": learner(network(16, dropout=0.5), loader=loader, steps=5, score=zero_one),
    }


def accuracy(model: nn.Module) -> float:
    with torch.inference_mode():
        return 1 - zero_one(model.eval()(TEST[0]), TEST[1]).item()


def weights(model: nn.Module) -> list[Any]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def same(one: list[Any], two: list[Any]) -> bool:
    return len(one) == len(two) and all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_gives_back_the_best_network_trained() -> None:
    made = candidates()
    result = rs.select(made, budget=60)
    assert sum(result.pulls.values()) == result.spent == 60
    assert {name: one.pulls for name, one in made.items()} == result.pulls
    assert made["network"].batches == 5 * result.pulls["network"]
    assert result.name == "network"
    assert result.model is made["network"].model
    assert accuracy(result.model) > 0.9
    assert not result.failures
    assert result.pulls["slow"] < 15


def test_a_network_alone_says_nothing_of_how_it_is_trained() -> None:
    with pytest.raises(rs.WrongType, match=r"candidates\['a'\]=Linear: must be in a .*TorchLearner"):
        rs.select({"a": nn.Linear(2, 1)}, budget=10)


def test_is_deterministic_and_seeded() -> None:
    one, two, other = (rs.select(candidates(seed), budget=40) for seed in (1, 1, 2))
    assert one.history.to_dict() == two.history.to_dict() != other.history.to_dict()
    assert same(weights(one.model), weights(two.model))


def test_a_candidate_does_not_depend_on_the_others() -> None:
    """Dropout, and a loader and generator that all share: its losses are those it has alone, and nothing outside changes."""
    among = candidates(3)
    outside = torch.get_rng_state()
    result = rs.select(among, budget=40, policy=rs.RoundRobin())
    assert torch.equal(torch.get_rng_state(), outside)
    assert tuple(candidates(3)["dropout"].train(10)) == result.history.losses("dropout")


def test_is_the_loop_one_would_write_by_hand() -> None:
    """Same random numbers, same losses, same weights, over more than one pass."""
    torch.manual_seed(4)
    model = network(16, dropout=0.3)
    found = learner(model, loader=DataLoader(TRAIN, batch_size=200, shuffle=True)).train(10)
    torch.manual_seed(4)
    by_hand, losses = network(16, dropout=0.3), []
    adam = torch.optim.Adam(by_hand.parameters(), lr=3e-3)
    loader = DataLoader(TRAIN, batch_size=200, shuffle=True)
    for _ in range(2):
        for x, y in loader:
            adam.zero_grad()
            loss = nn.functional.cross_entropy(by_hand(x), y)
            loss.backward()
            adam.step()
            losses.append(loss.item())
    assert found == losses[:10]


def test_progressive_losses_come_before_the_step() -> None:
    """A linear model of one weight: the loss of a pull is the mean of its two steps, each with the weight before it."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 1.0)
    batches = [(torch.tensor([[x]]), torch.tensor([[3.0 * x]])) for x in (1.0, 2.0, -1.0)]
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    found = TorchLearner(model, sgd, nn.MSELoss(), batches, steps=2).train(3)
    w, expected = 1.0, []
    for x in (1.0, 2.0, -1.0, 1.0, 2.0, -1.0):
        expected.append((w * x - 3 * x) ** 2)
        w -= 0.1 * 2 * x * (w * x - 3 * x)
    assert found == pytest.approx([(expected[k] + expected[k + 1]) / 2 for k in (0, 2, 4)], rel=1e-5)
    assert model.weight.item() == pytest.approx(w, rel=1e-5)


class Watched(nn.Module):
    """Remembers in which mode it was called, and on how many rows."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.calls = network(dropout=0.5), list[tuple[bool, bool, int]]()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.append((self.training, torch.is_inference_mode_enabled(), len(x)))
        found: torch.Tensor = self.inside(x)
        return found


def test_validation_is_in_evaluation_mode_and_goes_round() -> None:
    model = Watched().eval()
    parts = [(TEST[0][:50], TEST[1][:50]), (TEST[0][50:70], TEST[1][50:70])]
    one = learner(model, steps=2, validation=parts, score=zero_one)
    losses = one.train(3)
    train, judge = (True, False, 32), (False, True, 50)
    assert model.calls == [train, train, judge, train, train, (False, True, 20), train, train, judge]
    assert model.training
    assert model.inside.training
    with torch.inference_mode():
        assert zero_one(model.eval()(TEST[0][:50]), TEST[1][:50]).item() == losses[-1]


def test_a_step_of_ones_own() -> None:
    """Clipping and a scheduler; the pair's second number is what it is judged by."""
    torch.manual_seed(0)
    model = network()
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(sgd, [4, 6], gamma=0.1)
    norms = []

    def step(model: nn.Module, optimizer: Any, x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        outputs = model(x)
        loss = nn.functional.cross_entropy(outputs, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        norms.append(sum(p.grad.square().sum().item() for p in model.parameters()) ** 0.5)
        optimizer.step()
        scheduler.step()
        return loss, zero_one(outputs, y)

    one = TorchLearner(model, sgd, nn.CrossEntropyLoss(), shuffled(), step=step, also={"scheduler": scheduler})
    losses = one.train(7)
    assert all(round(32 * loss) == pytest.approx(32 * loss) for loss in losses)
    assert max(norms) < 0.0101
    assert sgd.param_groups[0]["lr"] == pytest.approx(0.01)


def test_a_step_that_returns_one_tensor_for_all_its_losses() -> None:
    """As a captured graph does: each loss is the one of its own step."""
    model, total = nn.Linear(64, 10), torch.zeros(())

    def step(*_: Any) -> torch.Tensor:
        return total.add_(1)

    assert learner(model, step=step, steps=2).train(3) == [1.5, 3.5, 5.5]
    assert learner(model, step=lambda *_: 0.25).train(2) == [0.25, 0.25]


def test_mixed_precision_step() -> None:
    torch.manual_seed(0)

    def step(model: nn.Module, optimizer: Any, x: Any, y: Any) -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            outputs = model(x)
            assert outputs.dtype == torch.bfloat16
            loss = nn.functional.cross_entropy(outputs, y)
        loss.backward()
        optimizer.step()
        return loss

    low = {"low": learner(network(), steps=5, step=step), "lower": learner(network(), rate=1e-6, steps=5, step=step)}
    result = rs.select(low, budget=40)
    assert result.name == "low"
    assert accuracy(result.model) > 0.9


def make(seed: int, loader: str) -> TorchLearner:
    """Everything that has a state: dropout, batch norm, Adam, a scheduler, a shuffled loader, another for validation."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 10))
    adam = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(adam, patience=1)

    def step(model: nn.Module, optimizer: Any, x: Any, y: Any) -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())
        return loss

    generator = torch.Generator().manual_seed(seed)
    by_hundred = BatchSampler(RandomSampler(TRAIN, generator=generator), 100, drop_last=False)
    loaders: dict[str, Any] = {
        "own generator": DataLoader(TRAIN, batch_size=100, shuffle=True, generator=generator),
        "torch's generator": DataLoader(TRAIN, batch_size=100, shuffle=True),
        "sampler's generator": DataLoader(TRAIN, batch_sampler=by_hundred),
        "batches drawn whole": DataLoader(TRAIN, batch_size=None, sampler=by_hundred),
        "workers": DataLoader(TRAIN, batch_size=100, shuffle=True, generator=generator, num_workers=1),
        "list": list(zip(X[:1400].split(100), Y[:1400].split(100), strict=True)),
    }
    options: dict[str, Any] = {"validation": DataLoader(TRAIN, batch_size=300, shuffle=True), "score": zero_one}
    options |= {"step": step, "also": {"scheduler": scheduler}, "steps": 3}
    return TorchLearner(model, adam, nn.CrossEntropyLoss(), loaders[loader], **options)


FORKS = pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning"
)  # by a DataLoader with workers, from Python 3.12 on


@FORKS
@pytest.mark.parametrize(
    "loader", ["own generator", "torch's generator", "sampler's generator", "batches drawn whole", "workers", "list"]
)
def test_saved_and_loaded_goes_on_to_the_bit(tmp_path: Path, loader: str) -> None:
    """In the middle of a pass, at its very end, and before the first pull; into a learner that had begun otherwise."""
    never_stopped = make(5, loader)
    losses = never_stopped.train(21)
    stopped = make(5, loader)
    stopped.save(tmp_path / "none")
    for pulls, more in ((6, 6), (14, 8)):  # 18 batches are in the second pass of 14; 42 are three passes
        assert stopped.train(more) == losses[pulls - more : pulls]
        stopped.save(tmp_path / str(pulls))
    for pulls in (0, 6, 14):
        fresh = make(77, loader)
        fresh.train(2)
        fresh.load(tmp_path / (str(pulls) if pulls else "none"))
        assert (fresh.pulls, fresh.batches) == (pulls, 3 * pulls)
        assert fresh.train(21 - pulls) == losses[pulls:]
        assert same(list(fresh.model.state_dict().values()), list(never_stopped.model.state_dict().values()))
        assert repr(fresh.optimizer.state_dict()) == repr(never_stopped.optimizer.state_dict())
        assert fresh.also["scheduler"].state_dict() == never_stopped.also["scheduler"].state_dict()


def test_a_checkpoint_is_one_file_others_can_read(tmp_path: Path) -> None:
    one = learner(network())
    one.train(2)
    one.save(tmp_path)
    one.train(1)
    one.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["learner.safetensors"]
    found = load_file(tmp_path / "learner.safetensors")
    assert torch.equal(found["parts.model.0.weight"], one.model.state_dict()["0.weight"])
    assert found["parts.optimizer.state.0.step"].item() == 3


def test_a_save_that_fails_leaves_the_file_before(tmp_path: Path) -> None:
    class Odd:
        state: Any = 1

        def state_dict(self) -> Any:
            return {"what": self.state}

        def load_state_dict(self, state: Any) -> None:
            self.state = state["what"]

    odd = Odd()
    one = learner(network(), also={"odd": odd})
    one.save(tmp_path)
    odd.state = object()
    with pytest.raises(rs.WrongType, match=r"parts.odd.what: must be made of tensors, .* not object"):
        one.save(tmp_path)
    one.load(tmp_path)
    assert odd.state == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_what_a_file_holds_comes_back_as_it_was(tmp_path: Path) -> None:
    shared = torch.arange(6.0).reshape(2, 3)
    tree = {
        "tied": [shared, shared, shared.t()],
        "plain": (None, True, 3, 0.1, "text", float("inf"), -float("inf")),
        1: {"1": torch.tensor(2), 1: torch.zeros(0, dtype=torch.bool)},
        "counts": Counter({4: 2}),
    }
    write_tensors(tmp_path / "file", tree)
    found = read_tensors(tmp_path / "file")
    assert repr(found) == repr(tree)
    assert type(found["counts"]) is Counter


def _json(path: Path) -> tuple[dict[str, torch.Tensor], Any]:
    with safe_open(path, framework="pt") as file:
        return load_file(path), json.loads(file.metadata()["restsure"])


class Bomb:
    def __reduce__(self) -> Any:
        return os.mkdir, ("bomb",)


def _spoil(path: Path, how: str) -> None:
    whole = path.read_bytes()
    tensors, tree = _json(path)
    entries = dict(tree["dict"])
    match how:
        case "missing":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "truncated":
            path.write_bytes(whole[:-100])
        case "cut in the header":
            path.write_bytes(whole[:100])
        case "pickle":
            path.write_bytes(pickle.dumps(Bomb()))
        case "torch.save":
            torch.save({"model": Bomb()}, path)
        case "weights only":
            save_file(tensors, path)
        case "no JSON":
            save_file(tensors, path, metadata={"restsure": "{'pulls': 1}"})
        case "deep JSON":
            save_file(tensors, path, metadata={"restsure": "[" * 100_000})
        case "a list":
            save_file(tensors, path, metadata={"restsure": "[1, 2]"})
        case "no tensors":
            save_file({}, path, metadata={"restsure": json.dumps(tree)})
        case "unknown tag":
            save_file(tensors, path, metadata={"restsure": json.dumps({"call": "os.mkdir"})})
        case "wrong shape":
            tensors["parts.model.0.weight"] = torch.zeros(64, 65)
            save_file(tensors, path, metadata={"restsure": json.dumps(tree)})
        case "wrong random state":
            tensors["random.cpu"] = torch.zeros(7, dtype=torch.uint8)
            save_file(tensors, path, metadata={"restsure": json.dumps(tree)})
        case _:
            field, value = how.split("=")
            entries[field] = json.loads(value)
            tree = {"dict": [list(pair) for pair in entries.items()]}
            save_file(tensors, path, metadata={"restsure": json.dumps(tree)})


@pytest.mark.parametrize(
    "how",
    [
        *("missing", "empty", "truncated", "cut in the header", "pickle", "torch.save", "weights only", "no JSON"),
        *("deep JSON", "a list", "no tensors", "unknown tag", "wrong shape", "wrong random state"),
        *('pulls="3"', "pulls=-1", "pulls=true", "pulls=null", "make=null", "parts=3", 'parts={"dict": []}'),
        *('batches={"dict": []}', 'batches={"dict": [["loader", {"dict": [["total", 1e9]]}]]}', "random=[]"),
        *('parts={"dict": [["model", {"dict": []}], ["optimizer", {"dict": []}]]}', 'parts={"dict": [[[], 1]]}'),
        *('parts={"dict": 3}', 'random={"tensor": 4}', 'random={"tensor": "none"}', 'random={"float": "much"}'),
    ],
)
def test_a_damaged_or_hostile_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """In one line, with nothing run and the learner as it was."""
    monkeypatch.chdir(tmp_path)

    def fresh() -> TorchLearner:
        torch.manual_seed(0)
        return learner(network(dropout=0.5), loader=shuffled(3))

    one, twin = fresh(), fresh()
    other = learner(network(dropout=0.5), loader=shuffled(4))
    other.train(3)
    other.save(tmp_path / "saved")
    _spoil(tmp_path / "saved" / "learner.safetensors", how)
    assert one.train(2) == twin.train(2)
    with pytest.raises(rs.InvalidParameter, match=r"learner\.safetensors: ") as caught:
        one.load(tmp_path / "saved")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "bomb").exists()
    assert one.pulls == 2
    assert one.train(2) == twin.train(2)


def test_a_file_of_another_make_is_refused(tmp_path: Path) -> None:
    one = learner(network())
    one.train(1)
    one.save(tmp_path)
    sgd = network()
    others = {
        "'steps': 1.*must be.*'steps': 2": learner(network(), steps=2),
        "must be.*'SGD'": TorchLearner(
            sgd, torch.optim.SGD(sgd.parameters(), lr=0.1), nn.CrossEntropyLoss(), shuffled()
        ),
        "size mismatch": learner(network(32)),
        "random numbers: must be those of cpu": learner(network(), loader=DataLoader(TRAIN, batch_size=32)),
        "validation": learner(network(), validation=[TEST]),
    }
    for text, other in others.items():
        with pytest.raises(rs.InvalidParameter, match=text):
            other.load(tmp_path)
        other.train(1)
    fewer = DataLoader(TRAIN, batch_size=700, shuffle=True, generator=torch.Generator())
    one.train(5)
    one.save(tmp_path)
    with pytest.raises(rs.InvalidParameter, match=r"loader: must have 6 batches a pass at least, but has 2"):
        learner(network(), loader=fewer).load(tmp_path)


def test_an_optimizer_of_another_model_is_refused() -> None:
    model, other = network(), network()
    adam = torch.optim.Adam(other.parameters())
    with pytest.raises(rs.InvalidParameter, match=r"optimizer=Adam: .* but 4 of its 4 are not the model's"):
        TorchLearner(model, adam, nn.CrossEntropyLoss(), shuffled())


def test_one_module_for_two_candidates_is_found_out() -> None:
    model = network()
    with pytest.raises(rs.InvalidParameter, match="'one' and 'two' must not be the same object"):
        rs.select({"one": learner(model), "two": learner(model), "other": learner(network())}, budget=12)
    one, two = learner(model), learner(model)
    assert len(one.train(2)) == 2
    with pytest.raises(rs.InvalidParameter, match="model: is used by another learner; each must have its own"):
        two.train(1)
    del one
    assert len(two.train(2)) == 2  # the other is gone: it is free to be trained further


@FORKS
def test_persistent_workers_are_not_shared() -> None:
    loader = DataLoader(TRAIN, batch_size=200, num_workers=1, persistent_workers=True)
    one, two = learner(network(), loader=loader), learner(network(), loader=loader)
    assert len(one.train(8)) == 8  # a second pass, by the same workers
    with pytest.raises(rs.InvalidParameter, match="loader with persistent workers: is used by another learner"):
        two.train(1)


@pytest.mark.parametrize(("batches", "why"), [(3, "loader: ended after 3 batches"), (0, "loader: has no batches")])
def test_a_loader_that_ends_fails_its_candidate_only(batches: int, why: str) -> None:
    torch.manual_seed(0)
    once = (batch for _, batch in zip(range(batches), shuffled(), strict=False))
    result = rs.select({"once": learner(network(), loader=once), "again": learner(network())}, budget=60)
    assert result.name == "again"
    assert result.failures["once"].startswith(f"InvalidParameter: {why}")
    assert sum(result.pulls.values()) == result.spent == 60
    assert max(result.history.losses("again")[-5:]) < 1.5


@pytest.mark.parametrize("score", [None, zero_one])
def test_a_network_that_diverges_fails_and_the_others_win(score: Any) -> None:
    torch.manual_seed(0)
    wild = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    sgd = torch.optim.SGD(wild.parameters(), lr=1e20)
    made = {
        "wild": TorchLearner(wild, sgd, nn.CrossEntropyLoss(), shuffled(), steps=5, score=score),
        "network": learner(network(), steps=5, score=score),
        "slow": learner(network(), rate=1e-5, steps=5, score=score),
    }
    result = rs.select(made, budget=40)
    assert "must be finite" in result.failures["wild"]
    assert result.name == "network"
    assert accuracy(result.model) > 0.9


def test_batches_may_be_nested_and_are_moved() -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(64, 10)

        def forward(self, inputs: Any) -> torch.Tensor:
            pair, named = inputs["pair"], inputs["named"]
            assert (type(pair), named.text) == (tuple, "note")
            found: torch.Tensor = self.linear(pair[0] + pair[1] + named.more[0])
            return found

    named = namedtuple("named", "more text")
    x, y = X[:32], Y[:32]
    loader = [({"pair": (x / 2, x / 4), "named": named([x / 4], "note")}, y)]
    losses = learner(Sum(), loader=loader, device="cpu").train(30)
    assert losses[-1] < losses[0]
    seen = []

    def step(model: nn.Module, optimizer: Any, inputs: Any, targets: Any) -> float:
        seen.extend([model.weight.device.type, inputs["named"].more[0].device.type, targets.device.type])
        return 0.0

    model = nn.Linear(64, 10).to("meta")
    with pytest.raises(NotImplementedError):  # no number comes back from a device that computes nothing
        learner(model, loader=loader, device="meta", step=step).train(1)
    assert seen == ["meta"] * 3
    with pytest.raises(rs.InvalidParameter, match="2 of its 2 are not the model's"):  # moving made new parameters
        learner(nn.Linear(64, 10), loader=loader, device="meta")


def _bad(**changes: Any) -> TorchLearner:
    model = network()
    given: dict[str, Any] = {"model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1)}
    given |= {"loss": nn.CrossEntropyLoss(), "loader": shuffled(), **changes}
    return TorchLearner(**given)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"model": print}, "model=.*must be of kind Module"),
        ({"optimizer": "adam"}, "optimizer='adam': must be of kind Optimizer"),
        ({"loss": None}, "loss=None: must be a function"),
        ({"score": 3}, "score=3: must be a function"),
        ({"step": "fast"}, "step='fast': must be a function"),
        ({"step": print, "score": zero_one}, "score: must be None with step"),
        ({"loader": 3}, "loader=3: must give batches"),
        ({"validation": 3}, "validation=3: must give batches"),
        ({"steps": 0}, "steps=0: must be at least 1"),
        ({"steps": 1.5}, "steps=1.5: must be a whole number"),
        ({"device": "tpu9"}, "device='tpu9': must name a device"),
        ({"also": [1]}, "also=.*must be a dictionary"),
        ({"also": {"model": torch.optim.SGD([torch.zeros(1)])}}, "also: names must be text other than model"),
        ({"also": {"scaler": 1}}, r"also\['scaler'\]=1: must have state_dict"),
    ],
)
def test_bad_parameters(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(rs.InvalidParameter, match=text):
        _bad(**changes)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"loader": [X[:2]]}, r"loader: batches must be pairs \(inputs, targets\), not Tensor"),
        ({"loader": [(X[:2], Y[:2], 1)]}, "loader: batches must be pairs"),
        ({"step": lambda *_: None}, "step: must be a number, but is NoneType"),
        (
            {"score": lambda outputs, targets: outputs},
            r"score: must be one number, but is a tensor of shape \(32, 10\)",
        ),
        ({"loader": [(X[:2], Y[:2, None])], "loss": zero_one}, r"targets must be of shape \(2,\), not \(2, 1\)"),
    ],
)
def test_bad_batches_and_losses(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(rs.RestSureError, match=text):
        _bad(**changes).train(1)


@pytest.mark.parametrize("missing", ["torch", "safetensors"])
def test_missing_torch_names_the_extra(missing: str) -> None:
    code = f"import sys; sys.modules['{missing}'] = None; import restsure.integrations.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("restsure.errors.MissingExtra: TorchLearner needs PyTorch")
    assert last.endswith("pip install 'restsure[torch]'")
