"""Predictions with a radius that holds at all times, in the place of an estimated spread."""

import numpy as np

from restsure.bounds import Claim, SelfNormalized
from restsure.estimators import Cells, PowerLaw, PowerLawStates
from restsure.policies.peer import Floats


class CertifiedStates(PowerLawStates):
    """The regressions of :class:`~restsure.PowerLaw`, with the radius of :class:`~restsure.bounds.SelfNormalized`."""

    def __init__(self, model: PowerLaw, radius: SelfNormalized, claim: Claim, runs: int):
        super().__init__(model, runs, claim.n_arms)
        self.radius, self.claim = radius, claim

    def predict(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        mean, _ = super().predict(cells, pulls)
        return mean, np.asarray(self.radius.radii(self.moments.grams(cells), pulls**-self.rho, self.claim))
