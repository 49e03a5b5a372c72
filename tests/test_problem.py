import numpy as np
import pytest

import restsure as rs


def test_reach_of_numbers_and_arrays() -> None:
    assert rs.reach(3, 10, 100) == 93
    np.testing.assert_array_equal(rs.reach(np.array([3, 7]), 10, 100), [93, 97])


def test_pseudo_regret_is_equation_3() -> None:
    assert rs.pseudo_regret(0.3, [0.2, 0.4]) == pytest.approx(0.1)
    np.testing.assert_allclose(rs.pseudo_regret([0.3, 0.5], [[0.2, 0.4], [0.5, 0.6]]), [0.1, 0.0])
