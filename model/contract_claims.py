"""The claims about execution contracts: C1 to C10 of the hardened contract, and S3's own sentences (see `claims.py`)."""

from typing import Final

from .claim_types import Assumption, Citation, Claim
from .contract import RULES, Rule

HARDENED: Final = "contract-hardened"
AS_WRITTEN: Final = "contract-as-written"


def _cite(section: str, first: int, last: int, sha256: str) -> Citation:
    return Citation("S3", section, (first, last), sha256)


def _holds(name: str, sentence: str, requirement: str, assumptions: tuple[str, ...], *cited: Citation) -> Claim:
    methods = ("prove", "explore", *(("enumerate",) if name == "C9" else ("crash", "walk")))
    return Claim(
        name, "hardened", sentence, cited, requirement, HARDENED, "holds", (name,), assumptions, methods, "PROVED"
    )


def _refuted(name: str, sentence: str, requirement: str, fails: str, beside: str, *cited: Citation) -> Claim:
    methods = ("explore", "replay")
    return Claim(
        name,
        "as_written",
        sentence,
        cited,
        requirement,
        AS_WRITTEN,
        "refuted",
        (fails,),
        (),
        methods,
        "REFUTED",
        beside,
    )


def _needed(rule: Rule, fails: tuple[str, ...], cited: Citation) -> Claim:
    """The matrix of rules and properties, a row: without the rule, all others in force, exactly these of C1 to C10 fail."""
    sentence = f"The other hardening rules suffice without {rule} ({RULES[rule]})."
    policy = f"contract-without-{rule}"
    return Claim(
        f"WITHOUT-{rule}",
        "as_written",
        sentence,
        (cited,),
        rule,
        policy,
        "refuted",
        fails,
        (),
        ("explore", "replay"),
        "REFUTED",
        fails[0],
    )


SHOWN_BY: Final = {
    **dict.fromkeys(("S3-EXAMPLE", "S3-BRANCH", "S3-RESUME", "S3-SUSPEND", "S3-READ"), "replay"),
    "S3-TRACE": "crash",
}
"""The method that shows a sentence on the runtime, where it is not a check of its own (`enumerate`)."""


def _shown(name: str, sentence: str, requirement: str, cited: Citation) -> Claim:
    methods = (SHOWN_BY.get(name, "enumerate"),)
    return Claim(name, "hardened", sentence, (cited,), requirement, HARDENED, "shown", (), (), methods, "TESTED")


def _unchecked(name: str, sentence: str, *cited: Citation) -> Claim:
    return Claim(
        name, "as_written", sentence, cited, "out of scope", AS_WRITTEN, "unchecked", (), (), (), "NOT CHECKED"
    )


CONTRACT_ASSUMPTIONS: Final = (
    Assumption("A-OTHERS", "Other contracts with the same key touch the registry and the world only as the rules named `other:` do; "
               "that a retry comes with an earlier one's approval for retries has no row here, and is checked by crash cases alone.",
               "the contract store; tests/test_contract_model.py checks it for two contracts"),
    Assumption("A-OCCURRENCE", "The occurrence is minted once for a user request or plan step, kept through retries and sessions, and never "
               "supplied by the language model.", "whoever creates contracts"),
    Assumption("A-UNDER-CONTRACT", "The step of a contract is begun by an executor of that contract alone, after running is durable.",
               "runtime.contracts.step"),
    Assumption("A-STEP-CLOSED", "A person's word that nothing happened also closes the contract's step: nothing begins or repeats it.",
               "runtime.contracts.step"),
)  # fmt: skip

CONTRACT_CLAIMS: Final = (
    _holds("C1", "At most one contract per irreversible key is live, completed, unknown, or rejected and not reopened, whoever else asks for the same, at the same moment or later.",
           "C-ONCE, C-RETRY, C-DENY", ("A-CAS", "A-DURABLE", "A-OTHERS", "A-OCCURRENCE", "A-HASH"), _cite("Constraints", 174, 174, "ba8d3efd034411c2b7367521c70abd5fe0f83540d3c11dec142a4cc283779bac"), _cite("Resume", 319, 319, "94eff2dbc96a2e3a834e931355247bc82d1f3c9cd4d3012d4eb1152f31592dc2")),
    _holds("C2", "A new contract with the key of an irreversible one comes to be only after it is proved that the former one did nothing.",
           "C-RETRY", ("A-CAS", "A-DURABLE", "A-OTHERS", "A-PERSON", "A-QUIET"), _cite("Failure branch", 446, 449, "bc24542dc3edac3d56fa14fa60940a009698f2b063bf5ef6f7e9202124a63c57")),
    _holds("C3", "The transitions of a contract are one chain from pending to its status, whole however long it is.",
           "C-HISTORY", ("A-DURABLE",), _cite("Resume", 321, 321, "b54917436be6ddab7a5573f5ed90bf83d2a22cf65aca358182f2921982fd428d"), _cite("State machine", 80, 80, "e70c0fa645860660a6813c844e25ca19f186d5cf30297e91ce6e351bf74097d4")),
    _holds("C4", "Only the tool node, the ECS node and the graph runner move a contract, each by its own triggers.",
           "C-ACTOR", (), _cite("Constraints", 176, 176, "08fd6b55c2e7f66fa42f7c6b7a16599898893911ea1da42cd66f35bcb44768eb"), _cite("Contract", 80, 80, "e70c0fa645860660a6813c844e25ca19f186d5cf30297e91ce6e351bf74097d4")),
    _holds("C5", "Of several resumes of one waiting contract exactly one takes effect.",
           "C-RESUME", ("A-CAS", "A-DURABLE"), _cite("Resume", 320, 320, "795b96de86d8018a7366ee38c41ac5fe3d8caeeddaf7a286a416092ed3953e4d")),
    _holds("C6", "An approval is for the action that was shown and for one execution of it, and what was denied never runs.",
           "C-BIND, C-DENY", ("A-CAS", "A-DURABLE", "A-OTHERS"), _cite("Worked example", 399, 404, "3dc26f59c946a3d3ee513918646ed2ac176fd13289943cc82e8bf0e485f98e9e")),
    _holds("C7", "Running is durable before the action is executed.",
           "C-AHEAD", ("A-DURABLE", "A-UNDER-CONTRACT"), _cite("ToolNode", 235, 253, "4b08431988b830a262679fa47fb628fde5131acd6b66d089fc2fac03888d9a15")),
    _holds("C8", "Waiting is left by resume, cancel, timeout or deny, never straight to completed, and terminal states absorb.",
           "C-MACHINE, C-DENY", ("A-CAS",), _cite("Constraints", 173, 173, "ad9834f9bd87675187cb28f4952d015138c13a5a504fa846f2f68b61bdf234d2"), _cite("Constraints", 175, 175, "5bc218472bff4d8acbbd8ee06dccdf5ede4f1e8ce00760dc977eb39c98d08ae9")),
    _holds("C9", "Every contract that is not at its end can come to one, without a fault and without anybody giving it up; every state is reached and every edge is taken.",
           "C-DEFER, C-ORPHAN", ("A-CAS", "A-PERSON"), _cite("States", 167, 169, "1cc374cad3c7e37f32fb6787ba2ea13e3c4f67523acc8c6c4a6a55547db6ebaf")),
    _holds("C10", "A completed tool contract had exactly one effect; a rejected, cancelled or failed one had none.",
           "C-UNKNOWN, C-ORPHAN", ("A-CAS", "A-DURABLE", "A-QUIET", "A-PERSON", "A-NO-EFFECT", "A-UNDER-CONTRACT", "A-STEP-CLOSED", "A-OTHERS"), _cite("States", 124, 138, "b55ef691f525823af18f4c6bff8eda6fd57aba9f83280b0bb8c670eb5bf13658")),
    Claim("C-PAIR", "hardened", "A contract and its step refine both models: what is proved of either holds of the pair.",
          (_cite("State machine", 80, 82, "25791c5659796bfd731f3bbcea3c4a95c256c014b52cdb792ca014d931cd415a"),),
          "C-NODES", "contract-hardened", "refines", (), ("A-UNDER-CONTRACT", "A-STEP-CLOSED"), ("explore",), "EXHAUSTED"),
    Claim("C-KEY", "hardened", "Contracts that differ in occurrence, service, method or arguments have different keys, the same ones in every process.",
          (_cite("Contract generation", 226, 226, "b36ef02877e292169224a8e30b4e26dd48436bb985eb991930d7ac61aa1cfca7"),),
          "C-DATA", "contract-hardened", "shown", (), ("A-HASH",), ("enumerate",), "TESTED"),
    _refuted("S3-ONCE", "An irreversible action whose key is looked up among the completed contracts is never done twice.",
             "C-ONCE", "S3-ONCE", "C1", _cite("Constraints", 174, 174, "ba8d3efd034411c2b7367521c70abd5fe0f83540d3c11dec142a4cc283779bac"), _cite("Irreversible", 305, 316, "df01131169d9c8f5f1b851931aaa6a4a4a8c5a2104dc45c73898833fc79d4afe")),
    _refuted("S3-RETRY", "A failed contract is not a completed one, so a new one with its key may be created: nothing is done twice.",
             "C-RETRY", "S3-RETRY", "C2", _cite("Failure branch", 444, 449, "9428e220edbaf1a36973a9c848f2f6b76586f44b22e577f3508ff783ec69f32d")),
    _refuted("S3-TIMEOUT", "A contract that ran into its time limit is cancelled, which means given up; trying again does nothing twice.",
             "C-UNKNOWN", "S3-TIMEOUT", "C10", _cite("States", 136, 138, "ccbb574c2440c56df5790b1454550752ea8a1c8e48b976c06f2fe356870a5a93"), _cite("Open questions", 469, 472, "a3eb1f2f65d185d76d4e390bb1b085c44bd6686a992a62705e9006ff0318de59")),
    _refuted("S3-FAILED", "An exception of the tool means failed, and failed means that the action had no success.",
             "C-UNKNOWN", "S3-FAILED", "C10", _cite("ToolNode", 250, 252, "eefc22ea1ef2c0932050e4231106cc24959ccf3a6a9f38b7ea7c3c8f64f7fb79"), _cite("States", 128, 134, "39810794798437f1fdea228af26dd6ed82803ed8b2df14a8736bc4831e7f750b")),
    _refuted("S3-DENIED", "What a person refuses is rejected, which means that it should not be done, and it is not run on the way there.",
             "C-DENY", "S3-DENIED", "C6", _cite("States", 132, 134, "d21d986b9372b18d9a2345ef5d4e1e36c308706091c202e82848abc72c897fdf"), _cite("Transitions", 143, 153, "ba83697a5896de53c100fcc5f3576c5b95ee007d2a31d99fba877caffd7c1394")),
    _refuted("S3-DENIED-RUNS", "What a person refuses has no effect, though the way from waiting to rejected passes through running.",
             "C-DENY, C-ORPHAN", "S3-DENIED-RUNS", "C6", _cite("States", 132, 134, "d21d986b9372b18d9a2345ef5d4e1e36c308706091c202e82848abc72c897fdf"), _cite("Constraints", 175, 175, "5bc218472bff4d8acbbd8ee06dccdf5ede4f1e8ce00760dc977eb39c98d08ae9")),
    _refuted("S3-RESUMED", "A tool contract that waited for consent is resumed to running and completed, and so it was executed.",
             "C-RESUME", "S3-RESUMED", "C10", _cite("Re-entry", 287, 287, "d1358519654ea73418263a462cef461b08f76b0516bee022868cfa8a1cec8960"), _cite("Waiting", 296, 296, "b22ad4894b4c184294a3362b7670a03aac9439afe147bdb0d04b06ffb8a575dd")),
    _refuted("S3-RESUMED-TWICE", "Because a resume checks that the contract waits, resuming twice runs the action once.",
             "C-RESUME", "S3-RESUMED-TWICE", "C5", _cite("Resume", 320, 320, "795b96de86d8018a7366ee38c41ac5fe3d8caeeddaf7a286a416092ed3953e4d"), _cite("Resume", 303, 303, "9c0694087041e8dba5ea7d379780649fff46b0cf986c0c46f9ba2e6f6a0de183")),
    _refuted("S3-CHANGED", "What runs after the confirmation is what was confirmed.",
             "C-BIND", "S3-CHANGED", "C6", _cite("Worked example", 399, 410, "8576caea04f0a7dbdc68bc902e7ad7cc460c5deb1b718baa43077e17465e4516")),
    _refuted("S3-ORPHAN", "A running contract is being executed: a crash while it runs leads to no second execution.",
             "C-ORPHAN, C-AHEAD", "S3-ORPHAN", "C10", _cite("States", 114, 117, "429966c0376eeb704b9fe44189118b2e38e568ad7059235d11998fb1d6ee9f54"), _cite("Worked example", 389, 393, "7263b77533079c367977b89781cb350ac8bb280a7b5dad6b2252fa922a9d5935")),
    _refuted("S3-DEFERRED", "A request that times out is cancelled, and so is what waits for it.",
             "C-DEFER", "S3-DEFERRED", "C9", _cite("Constraints", 175, 175, "5bc218472bff4d8acbbd8ee06dccdf5ede4f1e8ce00760dc977eb39c98d08ae9"), _cite("Worked example", 387, 387, "0a1a0cef6e828b4f11f7408d5b587f239834f09d8baa760205f20b998bec0588")),
    _refuted("S3-TERMINAL", "Terminal states are never left, also when a checkpoint is loaded and written back.",
             "C-RESUME", "S3-TERMINAL", "C8", _cite("Constraints", 173, 173, "ad9834f9bd87675187cb28f4952d015138c13a5a504fa846f2f68b61bdf234d2"), _cite("Resume", 303, 303, "9c0694087041e8dba5ea7d379780649fff46b0cf986c0c46f9ba2e6f6a0de183")),
    _refuted("S3-HISTORY", "The history of all transitions is complete, with at most some 50 entries kept.",
             "C-HISTORY", "S3-HISTORY", "C3", _cite("Resume", 321, 321, "b54917436be6ddab7a5573f5ed90bf83d2a22cf65aca358182f2921982fd428d"), _cite("Risks", 456, 456, "e5492d457cb7673f21d6d341d6ab06623ab5d3b4a9e4078fa2d4c3bcf850e0fd")),
    _refuted("S3-ACTORS", "Only ToolNode, ECSNode and GraphRunner move a contract: the actor is a string that each caller gives.",
             "C-ACTOR", "C4", "C4", _cite("Constraints", 176, 176, "08fd6b55c2e7f66fa42f7c6b7a16599898893911ea1da42cd66f35bcb44768eb"), _cite("ToolNode", 240, 240, "f63784625baf59887452d605d2fef4a630e48844b74294d59e79f82d73b6c18d")),
    _refuted("S3-AHEAD", "The checkpoint that is written when the graph suspends is enough: what executes is recorded as running.",
             "C-AHEAD", "C7", "C7", _cite("Worked example", 389, 393, "7263b77533079c367977b89781cb350ac8bb280a7b5dad6b2252fa922a9d5935"), _cite("ToolNode", 239, 244, "85fa819290bf4e07754abf2f5231557801b3c338c04612c6ba7718b3198f5abf")),
    Claim("S3-WAITING", "as_written", "Waiting is left by resume, cancel and timeout alone, never straight to completed.",
          (_cite("Constraints", 175, 175, "5bc218472bff4d8acbbd8ee06dccdf5ede4f1e8ce00760dc977eb39c98d08ae9"),),
          "C-MACHINE", AS_WRITTEN, "holds", ("S3-WAITING",), (), ("prove",), "PROVED", "C8"),
    Claim("S3-KEY", "as_written", "The key of an action is made from a language's hash of its arguments, and names the same action everywhere.",
          (_cite("Contract generation", 226, 226, "b36ef02877e292169224a8e30b4e26dd48436bb985eb991930d7ac61aa1cfca7"),),
          "C-DATA", AS_WRITTEN, "salted", (), (), ("enumerate",), "REFUTED", "C-KEY"),
    _needed("C-ACTOR", ("C4",), _cite("Constraints", 176, 176, "08fd6b55c2e7f66fa42f7c6b7a16599898893911ea1da42cd66f35bcb44768eb")),
    _needed("C-UNKNOWN", ("C10",), _cite("ToolNode", 250, 252, "eefc22ea1ef2c0932050e4231106cc24959ccf3a6a9f38b7ea7c3c8f64f7fb79")),
    _needed("C-ORPHAN", ("C10",), _cite("States", 114, 117, "429966c0376eeb704b9fe44189118b2e38e568ad7059235d11998fb1d6ee9f54")),
    _needed("C-DENY", ("C1", "C6"), _cite("States", 132, 134, "d21d986b9372b18d9a2345ef5d4e1e36c308706091c202e82848abc72c897fdf")),
    _needed("C-DEFER", ("C9",), _cite("Worked example", 387, 387, "0a1a0cef6e828b4f11f7408d5b587f239834f09d8baa760205f20b998bec0588")),
    _needed("C-ONCE", ("C1", "C2", "C10"), _cite("Irreversible", 305, 316, "df01131169d9c8f5f1b851931aaa6a4a4a8c5a2104dc45c73898833fc79d4afe")),
    _needed("C-RETRY", ("C1", "C2", "C10"), _cite("Failure branch", 444, 449, "9428e220edbaf1a36973a9c848f2f6b76586f44b22e577f3508ff783ec69f32d")),
    _needed("C-BIND", ("C6",), _cite("Worked example", 399, 404, "3dc26f59c946a3d3ee513918646ed2ac176fd13289943cc82e8bf0e485f98e9e")),
    _needed("C-RESUME", ("C1", "C2", "C5", "C6", "C7", "C8", "C10"), _cite("Resume", 301, 303, "884c160ecb73dcd12790444592e68233da94f30c74341550a70177e83973f1d9")),
    _needed("C-AHEAD", ("C2", "C6", "C7", "C10"), _cite("Worked example", 389, 393, "7263b77533079c367977b89781cb350ac8bb280a7b5dad6b2252fa922a9d5935")),
    _needed("C-HISTORY", ("C3",), _cite("Risks", 456, 456, "e5492d457cb7673f21d6d341d6ab06623ab5d3b4a9e4078fa2d4c3bcf850e0fd")),
    _shown("S3-EXAMPLE", "The worked example runs as told: an irreversible e-mail waits for a confirmation, is resumed, sent once and completed, and the trace has its eight entries in order.", "C-NODES",
           _cite("Worked example", 361, 428, "707bb67f0ee208f6c8828fe13932ab821dc9da64ba068b1bdfb3c1d5e9f6a432")),
    _shown("S3-BRANCH", "The branch in which the mail server refuses: the contract has failed with its reason, and a retry is a new contract with the same key.", "C-RETRY",
           _cite("Failure branch", 430, 450, "9a500ce76ed24c4c5aa41708584f9d91e9aea97e4a719329f02156f6d5e50a84")),
    _shown("S3-READ", "The reasoner reads the status of a contract and never guesses from prose: one total function from status to observation.", "C-NODES",
           _cite("Consumption", 264, 279, "cd55dcce7944b7c80ec153e2303a91227baed532d637058ac5faaf35aa3edc15")),
    _shown("S3-EVENTS", "The graph goes on by its own edges and by resume; nothing polls.", "C-NODES",
           _cite("Re-entry", 281, 289, "4ec870d6d9cd73764aab770fecaefedf0eb433ce56b73cee3c4cfaa36b88269a")),
    _shown("S3-RESUME", "An answer is stored, the session continues by resume, which loads the checkpoint, checks that the contract waits and runs the graph again.", "C-RESUME",
           _cite("Resume", 299, 303, "080c9c200dcf241935688e95dbafc4b10aac8e51c41a1c9380dde8bde0da4fcf")),
    _shown("S3-SUSPEND", "Before the form is sent the state of the graph, both contracts included, is durable.", "C-AHEAD",
           _cite("Worked example", 389, 393, "7263b77533079c367977b89781cb350ac8bb280a7b5dad6b2252fa922a9d5935")),
    _shown("S3-IMMUTABLE", "A contract binds one action to one execution, has an id of its own, and does not change but through its state machine.", "C-DATA",
           _cite("Contract", 66, 74, "bc9445633ad83ac75ac1f0ba63f536993a86c0c036ebda3b5812c2c6b534cc72")),
    _shown("S3-MODEL", "A contract has the fields of the data model.", "C-DATA",
           _cite("Data model", 178, 207, "eec9dfff676f0f459e1e77ee627dd8623d79ee9ff2613c6f44ab05b2a7d967c8")),
    _shown("S3-TRACE", "Every transition appends an entry to the execution trace, with trigger, actor, contract and whether it is irreversible.", "C-NODES",
           _cite("Review", 333, 350, "f4b03a4e1303758d11b9d6468b63329454a47884554c5595885b7bae79e7e374")),
    _shown("S3-LEVELS", "Results are for people, transitions for diagnosis, requests internal.", "C-DATA",
           _cite("Memory", 323, 331, "237c176338e5733c9daf74a57dca84ba483148feccbc950ef816a6b702180369")),
    _shown("S3-HIDDEN", "People are not shown system instructions, key material, actor names, or limits for timeout and cancel.", "C-DATA",
           _cite("Hidden", 352, 357, "0580552f8a4c85fa69dc77be5e18dbb5fff1c3b8d2222f7d6cc776576cfe8601")),
    _shown("S3-IRREVERSIBLE", "Whether a tool is irreversible is declared where it is registered; what is not declared is not irreversible.", "C-DATA",
           _cite("Open questions", 464, 467, "b048f3b45b5339711e94a0be86b49d19d784b0b7d9af77d4bf918b9f99c0c997")),
    _shown("S3-DEFAULTS", "A tool call has 30 seconds unless its contract says otherwise; a request to a person waits without a limit.", "C-DATA",
           _cite("Open questions", 469, 472, "a3eb1f2f65d185d76d4e390bb1b085c44bd6686a992a62705e9006ff0318de59")),
    _shown("S3-ACTION", "An action says what is to be done: it has no status, and no reference to its contract.", "C-DATA",
           _cite("Concepts", 60, 64, "83ecefc5ac7a0c60e4c906a105c6f5acda0917e783a83430f77edb3b7ff41709")),
    _shown("S3-GRAPH", "The graph is the one of the text, with its loop: intent, emotion, memory, reasoning, then a tool, a request or the end.", "C-NODES",
           _cite("Context", 7, 10, "58090f99200ac3a9b8cffffa87fcd85b8cef63af63876eeb4814afd2442016b1")),
    _shown("S3-STORE", "Contracts, checkpoints and traces lie in SQLite, without a server.", "C-DATA",
           _cite("Constraints of the design", 35, 35, "2f996777f0fe9c49fa6e0694e272a1db47606603075a29a1b367cab61699b285")),
    _shown("S3-CONSENT", "A tool contract that is irreversible may be made to wait for a person before it executes.", "C-NODES",
           _cite("Waiting", 296, 296, "b22ad4894b4c184294a3362b7670a03aac9439afe147bdb0d04b06ffb8a575dd")),
    _shown("S3-VALIDATES", "A transition that the machine does not have is refused where it is made, and changes nothing.", "C-MACHINE",
           _cite("Risks", 459, 459, "8b8076fd8e053608f46574f322617bba32eb7aec322f452abe971a03801b1115")),
    _shown("S3-RETENTION", "Nothing of a trace is deleted unless somebody asks for it.", "C-DATA",
           _cite("Open questions", 474, 477, "f57e73911a37291e71d483e0328b234e83686f4de98eae1c824264f786c20a7a")),
    _unchecked("S3-TRANSITION", "During a transition the old fields and the new ones stand side by side, and new code reads the new ones first.",
               _cite("Contract generation", 231, 231, "b4beaa4a634321f36a039e85b526ddae4c6ee627d052ef626df37a5ac5b5a42f"), _cite("Risks", 460, 460, "91c4ab40fd91fe32c5df4672d9e6754de4cb553394cf1695e55e41ee891aac00")),
    _unchecked("S3-COMPATIBLE", "Results are written to the old `observation` field as well while the reasoner is being adapted.",
               _cite("Risks", 457, 457, "8f6ecd1360c03120c4ca57ccb9ea6968266a1f8a131e61203d633dede99c2dc8")),
    _unchecked("S3-CALLBACK", "An executor that needs an asynchronous callback makes its contract wait.",
               _cite("Waiting", 297, 297, "68caca308a17e0894576415e18063ce699770c32f57be3262ab8946bdd9db0e4")),
    _unchecked("S3-SIZE", "A contract's data is much smaller than the history of a dialogue.",
               _cite("Risks", 456, 456, "e5492d457cb7673f21d6d341d6ab06623ab5d3b4a9e4078fa2d4c3bcf850e0fd")),
)  # fmt: skip

REASONS: Final = {
    "S3-TRANSITION": "It concerns the migration of another code base, which has `pending_tool_calls`; there is no such field here.",
    "S3-COMPATIBLE": "It concerns the migration of another code base; the reasoner here has read contracts from the start.",
    "S3-CALLBACK": "It is named as a later extension; no tool here calls back.",
    "S3-SIZE": "It is an estimate about another system's data.",
}
"""Why a claim is not checked."""
