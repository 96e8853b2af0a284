"""The sentences of S0: the invocation ledger, what a step's result means, and confirmation on replay."""

from typing import Final

from .claim_types import Citation
from .seed_sentence import belied, refuted, shown, unchecked


def _at(section: str, first: int, last: int, sha256: str) -> Citation:
    return Citation("S0", section, (first, last), sha256)


S0_CLAIMS: Final = (
    shown("S0-REPLAY", "Recovering a completed job, or one whose results are recorded, calls no tool.", "T-RECOVER 1, P12",
          _at("", 3, 3, "2e42c734de132cf35bed0c5c6295b398a757c31b94c7c592f7c4f70686983796"), _at("Goals", 7, 8, "96fddb6baede9fe721b4e03237b3bcd76f8591da9f997ed359e0abf422758ae5"), _at("Summary", 80, 80, "32af12268cc998f363815f2ad484810caba5aecaaa88be13a56d7a51b542ff0c"), _at("Summary", 76, 76, "7e1c87a004d747cd96dd61ac12ae58272f28328162cdd70566840c3d2d1b8c67")),
    shown("S0-1-PERSISTENT", "Each call of a tool has a durable record of its own, made before the tool is called.", "T-ORDER B1",
          _at("①", 16, 16, "98f0061dec476825ae4c0638f6537919d1d88989292fe43e219e7af4f0573241")),
    shown("S0-1-NOCALL", "Where the ledger holds a committed success the result is returned from it, and the tool is not called.",
          "T-RECOVER 2", _at("①", 16, 16, "98f0061dec476825ae4c0638f6537919d1d88989292fe43e219e7af4f0573241"), _at("①", 24, 24, "786adaf4861b4b131bbeb8cc3c2640619446ad67e20c67c89d4149ba1e09ffc5")),
    shown("S0-1-ELSE", "Otherwise a record is created, the tool is executed, the result is written and committed, in this order.",
          "T-ORDER", _at("①", 16, 16, "98f0061dec476825ae4c0638f6537919d1d88989292fe43e219e7af4f0573241")),
    shown("S0-1-FIELDS", "A ledger record says invocation, job, step, tool, hash of the arguments, key, status, result and whether it is "
          "committed, and is found by job and key.", "T-LEDGER", _at("①", 20, 20, "5d7bec8c8858e59549c544f042ae722621c7d217765e34b3fcc69dcdef17f228")),
    shown("S0-1-EVENTS", "A success in the event stream is enough: the result is injected from it although neither ledger nor effect store holds it.",
          "T-RECOVER 1", _at("①", 22, 22, "0d9a27d05d56bebbcb7c5f21fd7de4c18730c719e6c729cdfb2566803480cc58")),
    shown("S0-1-MEMORY", "A ledger in memory serves one process: another one knows nothing of it.", "T-LEDGER", _at("①", 26, 26, "bdee0a15b4346d6cfa047cf90a1950f7d82f95e2f128218a34a35273572770ef")),
    shown("S0-1-SHARED", "Workers that share the store share its answers: what one has committed the next injects.", "T-LEDGER", _at("①", 26, 26, "bdee0a15b4346d6cfa047cf90a1950f7d82f95e2f128218a34a35273572770ef")),
    unchecked("S0-1-CONFIRMED", "A record whose verification has passed may be marked as confirmed, for audit.", _at("①", 26, 26, "bdee0a15b4346d6cfa047cf90a1950f7d82f95e2f128218a34a35273572770ef")),
    belied("S0-1-SKIP", "A record that is marked as confirmed need not be verified again.", "T-CONFIRM", "S0-1-AGAIN", _at("①", 26, 26, "bdee0a15b4346d6cfa047cf90a1950f7d82f95e2f128218a34a35273572770ef")),
    shown("S0-1-AGAIN", "Each replay verifies anew, whatever an earlier one has found.", "T-CONFIRM", _at("①", 26, 26, "bdee0a15b4346d6cfa047cf90a1950f7d82f95e2f128218a34a35273572770ef")),
    unchecked("S0-1-POSTGRES", "API and workers take the PostgreSQL ledger by themselves when the job store is PostgreSQL.", _at("①", 26, 26, "bdee0a15b4346d6cfa047cf90a1950f7d82f95e2f128218a34a35273572770ef")),
    belied("S0-2-WORLD", "The result of a step says whether the world was changed: a step with an effect and one without have different results.",
           "T-OUTCOME", "P2", _at("②", 32, 32, "da640418dfb2656a48c8f82f79bd130cb1f23af844542daefac5638b59e5ccf4"), _at("②", 51, 51, "d4c659228a28e789c02a28681635053ddf8ef34386165e9250add20359ca3b46")),
    shown("S0-2-DECIDES", "Replay and retry decide by the recorded result alone: what is complete is skipped, what failed for good stays failed.",
          "T-OUTCOME, T-RECOVER 0", _at("②", 32, 32, "da640418dfb2656a48c8f82f79bd130cb1f23af844542daefac5638b59e5ccf4")),
    shown("S0-2-SUCCESS", "success: the step is done and had no effect, as an LLM's.", "T-OUTCOME", _at("②", 38, 38, "a63973365dae84ee9454575f0b1ae1a8a1154330d56255cbee9b4561e23a6624")),
    shown("S0-2-COMMITTED", "side_effect_committed: a tool's step succeeded, and the world was changed once.", "T-OUTCOME",
          _at("②", 39, 39, "495a638322b264191602964e904d39a97d4b3b9f7d6347b80d149fb71507301d"), _at("②", 47, 47, "978d7bad08aea9677030c33b927ae7a082d582d36a9021a6ae9dd78c04cf9028")),
    shown("S0-2-RETRYABLE", "retryable_failure: nothing happened, and the step may be tried again.", "T-OUTCOME, T-RETRY", _at("②", 40, 40, "5506c1c59236f2d686ba17a77acf6c6ce9425d75fb7af94d8ebe12e764134260")),
    shown("S0-2-PERMANENT", "permanent_failure: the step has failed and is not tried again.", "T-OUTCOME", _at("②", 41, 41, "cab4ab686a4fad3b429c7aa52ad4dfc38123e6fa2a87518bf5b4139db5212e68")),
    shown("S0-2-COMPENSATABLE", "compensatable_failure: part of it is committed, and is to be compensated.", "T-OUTCOME, T-COMP", _at("②", 42, 42, "ab1be72a620eef262a82b80f1ea11e42130b62e0cb2ee1b6a70057f4bd21a577")),
    shown("S0-2-COMPENSATED", "compensated: the step was undone, and this is its end.", "T-OUTCOME, T-COMP", _at("②", 43, 43, "36a509b277f3f3f256a7cc388791d9f5abe6c457d3a5420f0c9a3ec6c5ce2aa6")),
    belied("S0-2-EMPTY", "A step whose result type is empty is complete, as one of success, side_effect_committed or compensated is.", "T-OUTCOME",
           "S0-2-COMPLETE", _at("②", 48, 48, "e92b0b958d54c9dec86789eafc2c4ac427473e427e07c09f5275644fe1f0cc1d")),
    shown("S0-2-COMPLETE", "Complete for a replay are success, side_effect_committed and compensated, and no other result.", "T-OUTCOME",
          _at("②", 48, 48, "e92b0b958d54c9dec86789eafc2c4ac427473e427e07c09f5275644fe1f0cc1d"), _at("Summary", 77, 77, "edefdd203c094d87894b417e0c9e1f8e7c92b272851d25ae72278098096d5b73")),
    shown("S0-2-NORETRY", "A step that is side_effect_committed or compensated is never retried.", "T-OUTCOME", _at("②", 49, 49, "3d0986b8a95c7265072420f18dfdacf083e9234caf7b0c335578f39d932108ab")),
    shown("S0-3-REPLAY", "To replay a committed step is to verify the world, restore the result and skip the execution.", "T-CONFIRM, P8",
          _at("③", 57, 57, "d1259de53894aa678265456a1391c3c5de4f372e73f1cde388d09540df2ca2e5"), _at("③", 66, 66, "6f41b3c4e01917e6b1e42377d1bf946fe70162ca5e7e981437af0c6d611b1c68"), _at("Goals", 8, 8, "3530ed462cd2dc14293fb8a346d94c17428d4bbe96c8ea71484a079d95c9529b")),
    shown("S0-3-INTERFACE", "A verifier is told the job, the step, and type, id, operation and external reference of the resource.", "T-CONFIRM",
          _at("③", 61, 61, "08ba322a7b25b2defae8f2fe41b8f3cba2e5611005c60606d12cd9b2a330fde0")),
    shown("S0-3-FIELDS", "Version, ETag and external reference of a change of state are kept with it, in the effect store and in the events.",
          "T-CONFIRM, E-PROV", _at("③", 61, 61, "08ba322a7b25b2defae8f2fe41b8f3cba2e5611005c60606d12cd9b2a330fde0")),
    shown("S0-3-BYSTEP", "The changes of state come back to the step whose they are, from its events alone.", "T-CONFIRM", _at("③", 62, 62, "3fe71a24081ac3a281ac9383a333803661b556daedbda59cf85299c1369c9951"), _at("③", 63, 63, "c8fc7f54976245b98c4807c6073d34cd088d4208fb6121e80a530a303f581a59")),
    shown("S0-3-BOTH", "The verification comes before every injection, whether the result is taken from the ledger or from the events.", "T-CONFIRM, P8",
          _at("③", 64, 64, "68465818cdb0b05d5d6f64a52d2f19bad459fd7da28321c15a2dced0887db33d"), _at("①", 21, 21, "eba3fe63612a457c493fec7e6420945bcd24c7d3fbc46041eac23e714c780ac1")),
    shown("S0-3-EACH", "Every change of state that the step has recorded is verified.", "T-CONFIRM", _at("③", 64, 64, "68465818cdb0b05d5d6f64a52d2f19bad459fd7da28321c15a2dced0887db33d")),
    shown("S0-3-MISMATCH", "If one of them does not agree the job fails for good; the step is not silently executed again.", "T-CONFIRM strict",
          _at("③", 64, 64, "68465818cdb0b05d5d6f64a52d2f19bad459fd7da28321c15a2dced0887db33d"), _at("Summary", 78, 78, "3581005cb19508fee8d9911e3920166d70e857881a4f90c46e5e2cbc2c01b673"), _at("Summary", 80, 80, "32af12268cc998f363815f2ad484810caba5aecaaa88be13a56d7a51b542ff0c")),
    refuted("S0-3-ERROR", "A verifier that ends with an error has found a disagreement: the job fails for good.", "T-CONFIRM", "s0-verifier-errors", "P4",
            "S0-3-UNDETERMINED", _at("③", 64, 64, "68465818cdb0b05d5d6f64a52d2f19bad459fd7da28321c15a2dced0887db33d"), tried=True),
    refuted("S0-3-CATCHUP", "What is taken from ledger or events is verified first, and so nothing is injected unverified.", "T-CONFIRM",
            "s0-confirmation", "P8", "P8", _at("③", 64, 64, "68465818cdb0b05d5d6f64a52d2f19bad459fd7da28321c15a2dced0887db33d"), Citation("S1", "2", (26, 26), "e039357bd15fc0635aa09eaff8ac2000ac0fbf04ac84b9491182b150fe6045d7")),
    shown("S0-3-UNDETERMINED", "A verifier that cannot tell is asked again and then the job is parked; only a mismatch fails it.", "T-CONFIRM",
          _at("③", 64, 64, "68465818cdb0b05d5d6f64a52d2f19bad459fd7da28321c15a2dced0887db33d")),
    shown("S0-3-NOTHING", "Where there is nothing to verify the result is injected.", "T-CONFIRM", _at("③", 64, 64, "68465818cdb0b05d5d6f64a52d2f19bad459fd7da28321c15a2dced0887db33d")),
    shown("S0-3-DEFAULT", "Without a verifier nothing is verified: what the world holds now is assumed.", "T-CONFIRM", _at("③", 68, 68, "61d87c1fc6f3a8879e24402b9ec0454fd8ab18cf06119470d6410dda2bd28138")),
    shown("S0-3-SHIPPED", "A verifier that asks whether a GitHub issue still exists ships, can be configured, and says no where it does not.",
          "T-CONFIRM", _at("③", 68, 68, "61d87c1fc6f3a8879e24402b9ec0454fd8ab18cf06119470d6410dda2bd28138")),
)  # fmt: skip

S0_REASONS: Final = {
    "S0-1-CONFIRMED": "It is an option of the text; this version marks nothing, because no later check would be spared by it.",
    "S0-1-POSTGRES": "It concerns the configuration of the source project; here one address names all four stores.",
}
"""Why a claim is not checked."""
