"""How large each machine is, which of its rules never fire, and what its graph is: stated, and compared by who searches or audits.

The hashes are of what a reader sees in the report: of the names of the rules that are never reached, in order, and of the whole
graph, with its words. A search that finds something else is an error of its run, which says what is to be stated here.
"""

# ruff: noqa: E501
# Tables: a machine is read as a row.

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Searched:
    """A machine's reachable states and transitions. unreached: the hash of the rules that never fire, "" where each does."""

    states: int
    transitions: int
    unreached: str = ""


def digest(value: object) -> str:
    """SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


SEARCHED: Final[Mapping[str, Searched]] = {
    "hardened": Searched(277355, 930255, "1b7341427d432fa5368cb17593d0df3ea9dcdef5dc37fe2a8a012bdf6f39f60c"),
    "s0-order-full-recovery": Searched(277355, 930255, "82154065e25554b0e172fdad92029ae3863eb051ec5121039ea9091a04bba77a"),
    "s4-reexecute-stable-key": Searched(61194, 175957, "22472aaca71e8de6fef651850d01bdbdf3831ab48b57cdedbb989f02a9c7431d"),
    "s1-no-effect-store": Searched(63858, 156486, "709c3d5c44bb1d42b3d7662c2695cf754857a26e908c808ab171d81474038a77"),
    "contract-hardened": Searched(352, 1110),
    "contract-as-written": Searched(70857, 552597, "4869953025e05440610b2fa899884b1b4fe35e597781f9af04f9999e63bc8f7a"),
    "contract-without-C-ACTOR": Searched(513, 1620),
    "contract-without-C-UNKNOWN": Searched(350, 1086, "015ab862d2c907b039521d88622cdfeca769f951e9601b8e18ce14ece0e5ab63"),
    "contract-without-C-ORPHAN": Searched(708, 2347),
    "contract-without-C-DENY": Searched(399, 1299, "1abce1309815caf8a7e574bcf97853bad451562d3e7d4c6c7355e4db481b384c"),
    "contract-without-C-DEFER": Searched(358, 1130),
    "contract-without-C-ONCE": Searched(3435, 23556, "1abce1309815caf8a7e574bcf97853bad451562d3e7d4c6c7355e4db481b384c"),
    "contract-without-C-RETRY": Searched(3240, 16799),
    "contract-without-C-BIND": Searched(1047, 4171),
    "contract-without-C-RESUME": Searched(1519, 5444),
    "contract-without-C-AHEAD": Searched(512, 1812),
    "contract-without-C-HISTORY": Searched(533, 1792),
    "gate-hardened": Searched(2838, 10614),
    "gate-without-G-ASK": Searched(2618, 8926),
    "gate-without-G-RECORD": Searched(3646, 14074),
    "gate-without-G-BIND": Searched(3726, 13350),
    "gate-without-G-DENY": Searched(4382, 17202, "1e3aac453dd6d7fc51cf1616ff912420a4f667e62467d60dd865f0ba8c9ca306"),
    "gate-without-G-SIGNAL": Searched(3582, 14118),
    "gate-without-G-CANCEL": Searched(2860, 10726),
    "gate-as-written": Searched(9020, 36374),
    "compensation-hardened": Searched(3972, 10296, "d505d9ee2fef746ce28a011ea217be3131045db03579502ab82b895245e5aad5"),
    "compensation-without-K-BARRIER": Searched(21911, 97614, "4cee0a79084fa83ba8fb6071e3a16ed53d6aa52bce20f50dbbacac91ba2cfeb7"),
    "compensation-without-K-COMMITTED": Searched(10304, 31520, "07ec517aaf41456f5d161c1c8c389ea60646f807d017f60a2165522729f18874"),
    "compensation-without-K-QUIET": Searched(5964, 17554, "07ec517aaf41456f5d161c1c8c389ea60646f807d017f60a2165522729f18874"),
    "compensation-without-K-TRUTH": Searched(3582, 9954, "fd085f28d8697340382065c7e72fee86d124f950ee78fa61901e5fa43895c03b"),
    "compensation-without-K-RECORD": Searched(4068, 10552, "d505d9ee2fef746ce28a011ea217be3131045db03579502ab82b895245e5aad5"),
    "compensation-without-K-TERMINAL": Searched(9492, 29330, "ef3135f665dbb86948d9b21c856f1e34aec546e188c20b5e365a510159215299"),
    "compensation-as-written": Searched(11122, 52786, "db6b68a1ac38e7f500ec89002eceb20dc92ae5685a371706ca890e918372c35e"),
    "compensation-as-written-idempotent": Searched(4370, 20711, "eb30fe3ec1951ff1a74a9b6e37c060da307c2e231809ee7a5b7659b849d6921c"),
    "compensation-as-written-finished": Searched(20000, 99258, "db6b68a1ac38e7f500ec89002eceb20dc92ae5685a371706ca890e918372c35e"),
    "recorded-hardened": Searched(166, 324),
    "recorded-without-L-RECORD": Searched(370, 848),
    "recorded-without-L-INJECT": Searched(296, 688),
    "recorded-without-L-CATCHUP": Searched(172, 342),
    "recorded-without-L-RETRY": Searched(206, 426),
    "fleet": Searched(28398, 175822, "87d45da56c9ac9452a9ec7e354b5a78ae30454bca3cd9bfc339fffc71bed7d3a"),
}  # fmt: skip
"""By policy. The fleet is the one of two workers that every profile searches; of its other tools nothing is stated."""
GRAPHS: Final[Mapping[str, str]] = {
    "hardened": "ac13728d3284d7629458ea6e9718739c4c33436721b195063611593766f928e4",
    "contract-hardened": "81379d284dcdd99b21f97191cd481fae6b1498b63c566bfa59ada6c0a644d923",
    "gate-hardened": "9e1bf53c5a46e00dc4e67d8a9fd96203088bc30940fa7f87f35dd8a03436490d",
    "compensation-hardened": "75e625ea664d8ea85074b76e859e5c3fd0a0721b8832e1d251820dd54b7c0492",
    "recorded-hardened": "c157aaf2c822f2f5c7164324161d86672f3197f882dd52f64b1b35f395ca433c",
}  # fmt: skip
"""By policy that is drawn, the hash of its graph."""
TWO_WORKERS: Final[Mapping[str, tuple[tuple[int, int], ...]]] = {
    "fleet": ((28398, 175822), (24977, 148613), (29393, 181175), (30442, 186656), (251468, 1852091)),
    "fleet-recorded": ((18184, 81872),),
    "fleet-gate": ((56446, 439638), (135104, 946496), (919480, 7517068)),
    "fleet-compensation": ((24008, 148351), (160090, 998760)),
}  # fmt: skip
"""States and transitions of two workers, by what they work on: first as every profile searches them, then as the deep one does, too."""
ONE_WORKER: Final[Mapping[str, int]] = {"fleet-recorded": 320, "fleet-gate": 9506, "fleet-compensation": 16744}
"""Steps of one worker, which are those of the machine that the fleet was made of (`checkers/fleet_alone.py`)."""
IN_WINDOWS: Final[Mapping[str, int]] = {
    "1a": 18, "1b": 18, "1c": 224, "2": 54, "2x": 524, "2u": 1364, "2p": 672, "2r": 556, "2n": 152, "1n": 58, "3": 312, "3b": 568,
    "4": 568, "5": 1392, "6": 1236, "7": 1236, "8": 8886, "8f": 20418, "2f": 1232, "2q": 116, "2c": 156, "2d": 4320, "1x": 308,
    "5p": 1548, "0p": 6216, "0w": 2490,
}  # fmt: skip
"""By crash window, how many states of the step's machine are in it."""
COMBINATIONS: Final = {"legal": 36, "illegal": 732, "refused": 732}
"""Of the contract's states, triggers, actors and action types: the combinations that the tables allow, and the others, all refused."""
STORES: Final[Mapping[str, tuple[int, int]]] = {"quick": (1136, 20296), "deep": (3612, 64884)}
"""States and operations of the stores that are held side by side, by profile."""
FLEET_GRAPHS: Final[Mapping[str, Mapping[str, tuple[int, int, int]]]] = {
    "fleet-recorded": {
        "one worker": (280, 690, 0x1BECBB28E0DDBFDC),
        "two workers": (18184, 81872, 0x4A9AD80077009568),
    },
    "fleet-gate": {
        "one worker": (6036, 31644, 0x173BDCA234CF643A),
        "two workers, for a signal": (135104, 946496, 0xED9F7A7CC4CB9065),
        "two workers, for an approval": (919480, 7517068, 0x5B24FBA452CEA34E),
    },
    "fleet-compensation": {
        "one worker": (16566, 59812, 0x00269531746ECE43),
        "two workers, not harmless": (916664, 6202626, 0x5557C2D6F67D1D55),
        "two workers, not harmless, idempotent": (916664, 6202626, 0x9C3FAA62FB0F1643),
        "two workers, harmless": (2519664, 17444778, 0x3DF6716F783CD249),
    },
    "fleet": {
        "one worker": (335206, 1663992, 0x4E34A8D86AC0496E),
        "two workers within 2 claims and 1 attempt, no, park, none": (653874, 5113066, 0xC6304F8DF1FAFB0F),
        "two workers within 2 claims and 1 attempt, no, fail, none": (658744, 5125686, 0x76BCE0FAD1860FD0),
        "two workers within 2 claims and 1 attempt, no, query, quiet": (1673452, 13551612, 0xE4491A78DB4AE7B2),
        "two workers within 2 claims and 1 attempt, no, query, fence": (1701008, 13707942, 0xA74DDB7930FBF447),
        "two workers within 2 claims and 1 attempt, yes, reexecute, none": (657706, 5137904, 0xE205C0F5DECB9F1D),
        "two workers within 2 claims and 2 attempts, yes, query, fence": (4341220, 34679088, 0x19B97FC66AE90CFD),
    },
}
"""By fleet, and by what of it is searched with each state as it is (`checkers/fleet_graphs.py`): states, transitions, and the number of the
graph. Of the tool step an idempotent tool or not, what is done where an outcome is unknown, and how the tool is asked."""
