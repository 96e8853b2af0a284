"""Every guarantee sentence of S0, S1, S2 and S4 that is not one of the claims of `claims.py` already (E-CLAIM)."""

from typing import Final

from .seed_claims_s0 import S0_CLAIMS, S0_REASONS
from .seed_claims_s1 import S1_CLAIMS
from .seed_claims_s2 import S2_CLAIMS, S2_REASONS
from .seed_claims_s4 import S4_CLAIMS, S4_REASONS

SEED_CLAIMS: Final = (*S0_CLAIMS, *S1_CLAIMS, *S2_CLAIMS, *S4_CLAIMS)
SEED_REASONS: Final = {**S0_REASONS, **S2_REASONS, **S4_REASONS}
"""Why a claim is not checked."""
