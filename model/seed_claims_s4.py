"""The sentences of S4: the effect log, provenance of LLM and tool steps, rollback, and what makes a run verifiable."""

from typing import Final

from .claim_types import Citation
from .seed_sentence import belied, shown, unchecked


def _at(section: str, first: int, last: int, sha256: str) -> Citation:
    return Citation("S4", section, (first, last), sha256)


S4_CLAIMS: Final = (
    belied("S4-2.1-FILTER", "The effect log is the sequence of all command_committed and tool_invocation_finished events: the effects of the job.",
           "E-EFFECTLOG", "S4-2.1-ONCE", _at("2.1", 18, 18, "15e0801529735882cca6b23515084476aca18cc1e2f5a0b76d74c93386fe0924")),
    shown("S4-2.1-ONCE", "The effect log has one entry for each effect, in the order of the events, and is computed from them alone.", "E-EFFECTLOG",
          _at("2.1", 18, 18, "15e0801529735882cca6b23515084476aca18cc1e2f5a0b76d74c93386fe0924")),
    shown("S4-2.2-FIELDS", "An entry says job, place of the step, command, kind, hashes of input and output, and time.", "E-EFFECTLOG", _at("2.2", 24, 32, "a414a276262828639842c06f8b46a0f26c054a8ad73ccce4e388b01b8ae04bb5")),
    shown("S4-2.2-INDEX", "The place of a step follows the order of the plan's graph.", "E-EFFECTLOG", _at("2.2", 27, 27, "8f830ca65a47ee0865036bf4c8e3a1144a46b1ffd7409587c8eff03aaad6c472")),
    shown("S4-2.2-HASHES", "The hashes are those of what went in and what came out, so that a change shows.", "E-EFFECTLOG", _at("2.2", 30, 31, "deb8bff5ea20f30da1c11d42ccbc1a43d700bcf2ef81064dfc948e7822eae169")),
    shown("S4-2.2-TIME", "The time of an entry is that of its event.", "E-EFFECTLOG", _at("2.2", 32, 32, "d88e3e478e15a9dd37c38b9101526acdf13b79352044b288b77b811775cd5914")),
    shown("S4-2.2-KINDS", "Kinds are tool, llm, http, human, time and random.", "E-EFFECTLOG, E-INPUTS", _at("2.2", 29, 29, "7804a3caf478b240b969e2e2ad543bb14ba0a721694d1d5572d8e677b3cc880a")),
    shown("S4-2.2-REBUILT", "The log can be made from the events at any time, and is then the same.", "E-EFFECTLOG", _at("2.2", 34, 34, "3868c2116ad1e9ebc3c067ab1b71b5e283359f79e2ea9ff9772502b56aa6b2ba")),
    shown("S4-2.2-APART", "A replay does not depend on the log: it reads and writes none.", "E-EFFECTLOG", _at("2.2", 35, 35, "11a51a353ee0daeec041910c5da4dde3950b36d4c973717402ae5c1eba85d8c3"), _at("", 3, 3, "9abba16fdcf095f360c222ef57f20acaeddc5e50f35c8f355438bd9ed36f1e81")),
    shown("S4-3-RECORD", "An LLM call leaves an effect record with prompt, response, model and temperature.", "E-LLM", _at("3.2", 47, 47, "32f4bba3ba198fd18a4d916747350c67ee009658c7de1d14e19fcd0bc7307509"), _at("3.1", 43, 43, "127cb94a797e22706612e83a66f41e4b4cd030b651a8ef9908ec428d0e60ae28")),
    shown("S4-3-PROMPT", "The record bears the hash of the prompt.", "E-LLM", _at("3.2", 48, 48, "5874614b57739cf2e02fbd97f58fa8c043cd70d641feedb7443ffb7f307611a6")),
    shown("S4-3-RESPONSE", "The record bears the hash of the response.", "E-LLM", _at("3.2", 49, 49, "9241272cf073d5a56055a6eb81c2920667ee379f6992484ca9c3f2b4676a0b23")),
    shown("S4-3-SNAPSHOT", "The record of an LLM call names the decision snapshot that led to it.", "E-LLM", _at("3.2", 50, 51, "c96e068102a4b9d96b10960975d7f6165d1dbf2e750e08d37f197e10fec8dda6"), _at("3.1", 43, 43, "127cb94a797e22706612e83a66f41e4b4cd030b651a8ef9908ec428d0e60ae28")),
    shown("S4-3-DECISION", "The plan is followed by a decision snapshot with goal, memory, reasoning and the graph of tasks.", "T-EVENT", _at("3.2", 51, 51, "d8c1e8c4fe35a96ce4c751727ffb411907906cbfc075c94b52cbc48581daa1f7")),
    shown("S4-3-NOCALL", "A replay never calls the model: the recorded response is injected, byte for byte.", "E-LLM, P12", _at("3.3", 55, 55, "330e7e908ecc9350ab745a287e32bd2db357521f0d6b7706a4b14c670cc32741")),
    shown("S4-3-AUDIT", "What is logged of a decision takes no part in the execution: without it a replay comes to the same.", "E-LLM", _at("3.3", 55, 55, "330e7e908ecc9350ab745a287e32bd2db357521f0d6b7706a4b14c670cc32741")),
    shown("S4-4-EXTERNAL", "The external system's id, where the tool returns one, is kept in the effect record's metadata.", "E-PROV",
          _at("4.2", 68, 68, "080faa7eea54338f5192c99538e88886ea6df7640f55323addd87e75bd5a1f7f"), _at("4.1", 63, 63, "08ab0aa8c1c2272531b45269d452f7504294d30d007856aab3765383332c7e41"), _at("4.3", 74, 74, "782fa71b52b74723fe3cd810b47e92c3d98537f56c94cc5ad39b036604b863ba")),
    shown("S4-4-LEDGER", "It is kept in the ledger, too.", "E-PROV", _at("4.2", 70, 70, "a5623ec3ca1e177eb050ab646b8c8faef43379c55484c479e02a8eb3eb67ebc1"), _at("4.3", 74, 74, "782fa71b52b74723fe3cd810b47e92c3d98537f56c94cc5ad39b036604b863ba")),
    shown("S4-4-RECORD", "A tool's effect record says job, key, step, input and output, and the tool's name in its metadata.", "T-STORES", _at("4.2", 67, 67, "2df1d13949a096eaa9f9a9e88e99cb56dcf04cd68e981de37a0f28ccd826f81b"),
          _at("4.2", 69, 69, "9a818c63905e474d7427f19c70649a0235a02edac2730a8f46cc136db2468060")),
    belied("S4-4-ERROR", "A tool's effect record also says the error of an execution that failed.", "T-STORES", "S4-4-RECORD", _at("4.2", 67, 67, "2df1d13949a096eaa9f9a9e88e99cb56dcf04cd68e981de37a0f28ccd826f81b")),
    shown("S4-4-APART", "Replay and catch-up do not depend on the external id: without it they come to the same result, and call nothing.", "E-PROV",
          _at("4.3", 75, 75, "a53d8103408fd2aa9ea923533abf4ad71202f67524b7614387a69e934393a4dd")),
    shown("S4-5.1-ONLY", "A tool is executed only where the effect store holds no effect of the step.", "T-RECOVER 3", _at("5.1", 83, 83, "4a7a17346738ea23b4c4548e7e25627637acce727c98d76d7aa1c6a1aace62ef")),
    shown("S4-5.1-RETRY", "What is not committed may be retried; what is committed is injected.", "E-ROLLBACK", _at("5.1", 84, 85, "5c415f47a529c6a753a972b11d388c9c70d8f8b006dbefd39fe85701ade73b8a")),
    shown("S4-5.1-APPENDS", "A compensation only appends: no event, effect record or committed ledger record is changed or removed by it.", "E-ROLLBACK",
          _at("5.1", 84, 84, "80639cd6cd6dd72ac8cebbf9f3a34308164dca892b23e782936bebaa745f8f7b"), _at("5.1", 86, 86, "573f686c68ac42d6f21bbabd9c1fe16928c1cd29be2aadab22f2dd64ee3da55f")),
    shown("S4-6-AUDITABLE", "A finished job's events are complete: plan, end of each node, committed command, and for a tool its finish.", "E-VERIFIABLE",
          _at("6", 97, 99, "c7fe3d30e18be59454dddc02b09213291fcd5efc5d4384ca1a04c18da9e3a11c")),
    shown("S4-6-QUERY", "For each step kind and hashes of input and output can be asked of the effect log.", "E-VERIFIABLE", _at("6", 99, 99, "c07ca8f6ab20d7565dcfb4ab1c6fc844766eb25c2278bd3a181f0eb406b458cf")),
    shown("S4-6-SAME", "Replaying the same events gives the same completed nodes, results and end.", "E-VERIFIABLE, P12", _at("6", 100, 100, "007242c617f94b30f7371bc74d470db0d13f601b53c1ba68d84768083b892551")),
    shown("S4-6-CALLS", "A replay triggers no real call.", "E-VERIFIABLE, P12", _at("6", 100, 100, "007242c617f94b30f7371bc74d470db0d13f601b53c1ba68d84768083b892551")),
    shown("S4-6-REPEATS", "A finished job whose records hold a repeated effect is not called verifiable.", "E-VERIFIABLE, P13", _at("6", 101, 101, "9e0e359459ae14ee96424934bb9a42c0fb7f8518c74577fc68228f4d310b9f4d")),
    shown("S4-6-MISSING", "A finished job that lacks one of the required events is not called verifiable.", "E-VERIFIABLE, P13", _at("6", 97, 99, "c7fe3d30e18be59454dddc02b09213291fcd5efc5d4384ca1a04c18da9e3a11c")),
    shown("S4-6-PROVENANCE", "LLM steps can be led back to their decision and tool steps to their external id, and verify-job checks both.", "E-VERIFIABLE, E-PROV",
          _at("6", 102, 102, "a2d27bad221431a8b96c965fb0449c912aed10d78b9e3c52c9592e35b6436e11")),
    unchecked("S4-6-TREE", "The trace view shows a decision tree and a graph of the tools' dependencies.", _at("6", 102, 102, "a2d27bad221431a8b96c965fb0449c912aed10d78b9e3c52c9592e35b6436e11")),
)  # fmt: skip

S4_REASONS: Final = {
    "S4-6-TREE": "It concerns the trace view of the source project; there is none here.",
}
"""Why a claim is not checked."""
