import numpy as np
import pytest

import restsure as rs


def test_means_are_equation_2() -> None:
    arms = rs.PowerLawArms([1.0, 0.5], [0.1, 0.2], rho=0.7)
    assert arms.mean(0, 1, 10) == pytest.approx(0.5 * 10**-0.7 + 0.2)
    np.testing.assert_allclose(arms.mean(0, [0, 1], 1), [1.1, 0.7])
    np.testing.assert_allclose(arms.means(np.arange(3), 1), [[1.1, 0.7]] * 3)


def test_an_instance_a_run() -> None:
    arms = rs.PowerLawArms([[1.0, 0.5], [0.0, 0.0]], [[0.1, 0.2], [0.3, 0.4]])
    assert (arms.n_arms, arms.instances) == (2, 2)
    np.testing.assert_allclose(arms.means(np.array([1, 0]), 4), [[0.3, 0.4], [0.6, 0.45]])


def test_parameters_are_copied() -> None:
    alpha = np.array([1.0])
    arms = rs.PowerLawArms(alpha, [0.1])
    alpha[0] = 9
    assert arms.alpha[0] == 1


def test_repr_can_be_read() -> None:
    assert repr(rs.PowerLawArms([1.0], [0.1])) == "PowerLawArms([1.0], [0.1], rho=0.5, noise=Gaussian(sigma=0.1))"


def test_function_arms_at_any_pulls() -> None:
    """Stretches of pulls are kept: two that begin and end alike must not be taken for each other."""
    arms = rs.FunctionArms([lambda s: 1 / s, lambda s: 2 / s])
    for pulls in ([1, 2, 3, 4], [1, 3, 2, 4], [1, 2, 3, 4], [2, 2, 2, 2]):
        got = arms.mean(0, np.array([[0], [1], [0]]), np.array([pulls]))
        np.testing.assert_allclose(got, np.array([[1], [2], [1]]) / np.array([pulls]))
    assert len(rs.FunctionArms([lambda s: 0.5]).mean(0, np.array([[0]]), np.array([[1, 2]]))[0]) == 2
