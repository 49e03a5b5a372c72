"""fit_curve for curves of unknown shape."""

import numpy as np
import pytest

import restsure as rs


@pytest.mark.parametrize("method", ["trend", "bank"])
def test_predicts_a_power_law(method: str) -> None:
    """100 losses of noise .02: the loss after 1,000 is within three spreads, and its noise within a third."""
    s = np.arange(1, 101)
    for seed in range(5):
        fit = rs.fit_curve(0.5 * s**-0.5 + 0.1 + np.random.default_rng(seed).normal(0, 0.02, 100), method=method)
        mean, sd = fit.predict(1_000)
        assert abs(mean - (0.5 * 1_000**-0.5 + 0.1)) < max(3 * sd, 0.03)
        assert fit.sigma == pytest.approx(0.02, rel=1 / 3)
        assert fit.pulls == 100


@pytest.mark.parametrize("method", ["trend", "bank"])
def test_alpha_and_beta_describe_the_prediction(method: str) -> None:
    fit = rs.fit_curve(0.4 * np.arange(1, 51) ** -0.3 + 0.2, method=method, rho=0.3, horizon=400)
    for m in (50, 200):
        assert fit.alpha * m**-0.3 + fit.beta == pytest.approx(fit.predict(m)[0])


@pytest.mark.parametrize("method", ["trend", "bank"])
def test_arrays_and_the_past(method: str) -> None:
    """Arrays in, arrays out; before the present the present is given; uncertainty grows ahead."""
    fit = rs.fit_curve(0.4 * np.arange(1, 51) ** -0.5 + np.random.default_rng(0).normal(0, 0.02, 50), method=method)
    mean, sd = fit.predict([[1, 50], [100, 500]])
    assert mean.shape == sd.shape == (2, 2)
    assert mean[0, 0] == mean[0, 1]
    assert sd[1, 1] > sd[1, 0] > 0


def test_bad_input() -> None:
    with pytest.raises(rs.InvalidParameter, match=r"method='spline': must be one of 'two-window', .*'bank'"):
        rs.fit_curve([1, 2, 3], method="spline")
    with pytest.raises(rs.InvalidParameter, match="horizon=2: must be at least 3"):
        rs.fit_curve([1, 2, 3], method="trend", horizon=2)
    with pytest.raises(rs.InvalidParameter, match="pulls: must be at least 1"):
        rs.fit_curve([1, 2, 3], method="bank").predict(0)
