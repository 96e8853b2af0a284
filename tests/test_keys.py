"""Keys (T-KEY, P11) and the canonical JSON that they are made of (RFC 8785)."""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import assume, given
from hypothesis import strategies as st

from crashwindow.checkers import keys
from crashwindow.checkers.evidence import Verdict
from crashwindow.runtime import store_rules
from crashwindow.runtime.canonical import NotCanonicalError, canonical, digest
from crashwindow.runtime.keys import attempt_key, execution_key, invocation_id, stable_key
from crashwindow.runtime.outcome import StepResult
from crashwindow.runtime.store_rules import decode, encode

# RFC 8785, appendix B: IEEE 754 bits and their serialization.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}

# A small alphabet, so that one name is often another one with a letter moved over the border.
names = st.text(alphabet="ab:{", max_size=3)
scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | names
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
steps = st.tuples(names, names, names, values)


# RFC 8785, section 3.2.4: the UTF-8 bytes of the sample of section 3.2.2.
SAMPLE_BYTES = """
    7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72
    75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 72 73 22 3a
    5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31
    65 2b 33 30 2c 34 2e 35 2c 30 2e 30 30 32 2c 31 65 2d 32 37
    5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30
    30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d
"""

# The test data published beside the RFC (arrays, french, structures, unicode, values): input and its canonical form.
PUBLISHED = {
    """[ 56, { "d": true, "10": null, "1": [ ] } ]""": """[56,{"1":[],"10":null,"d":true}]""",
    """{ "peach": "This sorting order", "péché": "is wrong according to French",
         "pêche": "but canonicalization MUST", "sin": "ignore locale" }""": (
        """{"peach":"This sorting order","péché":"is wrong according to French","""
        """"pêche":"but canonicalization MUST","sin":"ignore locale"}"""
    ),
    r"""{ "1": {"f": {"f": "hi","F": 5} ,"\n": 56.0}, "10": { }, "": "empty", "a": { },
          "111": [ {"e": "yes","E": "no" } ], "A": { } }""": (
        r"""{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}"""
    ),
    r"""{ "Unnormalized Unicode": "A\u030a" }""": """{"Unnormalized Unicode":"A\u030a"}""",
    r"""{ "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
          "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false] }""": (
        bytes.fromhex(SAMPLE_BYTES).decode()
    ),
}


@pytest.mark.parametrize(
    ("given", "published"), PUBLISHED.items(), ids=["arrays", "french", "structures", "unicode", "values"]
)
def test_published_vectors(given: str, published: str) -> None:
    """Each published input has the published canonical form, byte for byte, and that form is its own."""
    assert canonical(json.loads(given)) == published.encode()
    assert canonical(json.loads(published)) == published.encode()


@pytest.mark.parametrize("bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"])
def test_numbers_that_the_rfc_refuses(bits: str) -> None:
    """NaN and the infinities (RFC 8785 appendix B) are errors."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    with pytest.raises(NotCanonicalError):
        canonical(number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_written_shortest_and_comes_back(number: float) -> None:
    """The digits are those of Python's shortest repr, as ECMAScript asks; an exponent stands where ECMAScript has one."""
    text = canonical(number).decode()
    assert float(text) == number
    assert Decimal(text) == Decimal(repr(number))
    assert ("e" in text) == (number != 0 and not 1e-6 <= abs(number) < 1e21)


@given(values)
def test_what_is_stored_can_be_stored_again(value: Any) -> None:
    """The text in a store is canonical, and so is the text of what is read from it: results are injected and hashed again."""
    text = encode(value)
    assert text.encode() == canonical(value)
    assert encode(decode(text)) == text


@given(
    values.map(json.dumps)
    | st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
    | st.sampled_from(
        ["NaN", "-Infinity", '"\\ud800"', '{"a":1,"a":2}', " [1 ] ", "[" * 9999, "", "01", "-0", '{"a":1']
    )
)
def test_the_fast_way_reads_what_the_library_reads(text: str) -> None:
    """Whatever is stored: the same value, of the same types, as by the standard library, or the same error."""

    def said(read: Callable[[str], Any]) -> str:
        try:
            return repr(read(text))
        except (ValueError, RecursionError) as error:
            return repr(error)[:200]

    assert said(decode) == said(store_rules._DECODER.decode)


@pytest.mark.parametrize(
    "text",
    ["9", "-9", " 9", "[9]", "[-9]", "[1,9]", "[1,-9]", "[1, 9]", "[\t9]", "[\n9]", "[\r9]", '{"a":9}', '{"a":-9}'],
)
def test_a_large_integer_is_found_wherever_it_stands(text: str) -> None:
    """What looks for one before the fast decoder may read misses none."""
    large = text.replace("9", "9" * 17)
    assert repr(decode(large)) == repr(store_rules._DECODER.decode(large))


@pytest.mark.parametrize("number", [1e20, -1e20, 2.0**53, 1e21, -0.0, 1.0])
def test_large_integers_of_a_text_are_doubles(number: float) -> None:
    """RFC 8785 writes 1e20 with all its digits; read back, it is the same double, and no integer without a form."""
    assert decode(encode(number)) == number
    assert encode(decode(encode(number))) == encode(number)


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_numbers_of_the_rfc(bits: str, text: str) -> None:
    """Each number of RFC 8785 appendix B has the published form."""
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == text.encode()


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**54), 2**54)
    | st.sampled_from(
        [
            2**53,
            2**53 - 1,
            -(2**53),
            1e16,
            0.5,
            -0.0,
            1e-4,
            9e-5,
            1e-7,
            0.1 + 0.2,
            1764000000.123456,
            float("nan"),
            b"bytes",
            StepResult.SUCCESS,
        ]
    )
    | st.text(st.characters(codec=None), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["\ue000", "\U00010000", 1, None]), inner, max_size=3)
    ),
    max_leaves=8,
)
"""Values, and what is none: numbers without a form, lone surrogates, bytes, names that are no strings or sort differently."""


@given(ANYTHING)
def test_the_fast_way_gives_what_the_library_gives(value: Any) -> None:
    """Whatever the value: the same bytes as the RFC's encoder, or both refuse."""
    try:
        expected = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, ValueError, TypeError):
        with pytest.raises(NotCanonicalError):
            canonical(value)
    else:
        assert canonical(value) == expected


def test_keys_are_sorted_as_the_rfc_sorts_them() -> None:
    """Property names are compared by UTF-16 code units (RFC 8785 section 3.2.3)."""
    sample = {
        "€": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "ö": "Latin Small Letter O With Diaeresis",
    }
    assert list(json.loads(canonical(sample)).values()) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), b"bytes", {1: "a number as key"}, {"set"}, 2**53, "\ud800", {"\ud800": 1}],
    ids=repr,
)
def test_what_is_not_json_has_no_key(value: Any) -> None:
    """NaN, infinity, bytes, keys that are no strings, integers beyond 2^53 - 1 and lone surrogates are errors."""
    with pytest.raises(NotCanonicalError, match="RFC 8785"):
        execution_key("job", "node", "tool", {"value": value})


@given(steps, steps)
def test_keys_are_injective(one: tuple[str, str, str, Any], other: tuple[str, str, str, Any]) -> None:
    """P11: two steps that differ in job, node, tool or arguments have different keys, internal and external."""
    assume((*one[:3], canonical(one[3])) != (*other[:3], canonical(other[3])))
    keys = execution_key(*one), execution_key(*other)
    assert keys[0] != keys[1]
    assert stable_key(keys[0]) != stable_key(keys[1])
    assert invocation_id(keys[0]) != invocation_id(keys[1])


@given(names, names, names, values, names.filter(bool))
def test_letters_do_not_move_over_a_border(job: str, node: str, tool: str, args: Any, moved: str) -> None:
    """P11: what ends one id is never taken for the beginning of the next."""
    assert execution_key(job + moved, node, tool, args) != execution_key(job, moved + node, tool, args)
    assert execution_key(job, node + moved, tool, args) != execution_key(job, node, moved + tool, args)


@given(st.dictionaries(names, values, max_size=5), st.randoms())
def test_key_order_never_matters(args: dict[str, Any], random: Any) -> None:
    """The same members in another order are the same arguments."""
    shuffled = list(args.items())
    random.shuffle(shuffled)
    assert execution_key("job", "node", "tool", args) == execution_key("job", "node", "tool", dict(shuffled))


def test_nothing_is_not_an_empty_object() -> None:
    """{a: null}, {a: {}}, {a: []}, {a: ""}, {a: false}, {a: 0} and {} are seven different arguments."""
    alike: list[Any] = [{"a": None}, {"a": {}}, {"a": []}, {"a": ""}, {"a": False}, {"a": 0}, {}]
    assert len({execution_key("job", "node", "tool", args) for args in alike}) == len(alike)


@pytest.mark.parametrize("ids", [("a\0b", "c", "d"), ("a", "b\0", "d"), ("a", "b", "\0d")])
def test_an_id_with_nul_is_refused(ids: tuple[str, str, str]) -> None:
    """NUL separates the parts of a key, so an id that holds one could look like two."""
    with pytest.raises(ValueError, match="NUL"):
        execution_key(*ids, {})


def test_the_key_is_the_stated_formula() -> None:
    r"""T-KEY: SHA256(job \0 node \0 tool \0 canonical(args)); computed once with sha256sum."""
    by_hand = "7f28d5f710b4e3a55fcfee565f6480dff5643e157a4c58c6e0f2ce4cf9fe6561"
    assert execution_key("job", "node", "tool", {"b": 1, "a": None}) == by_hand


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_another_process_makes_the_same_key(seed: str, tmp_path: Path) -> None:
    """P11: the key does not depend on the process, nor on its hash seed."""
    args = {"z": [1, {"é": None, "b": 2.5}], "a": {"y": True, "x": "\n"}}
    code = (
        "import json, sys; from crashwindow.runtime.keys import execution_key;"
        "print(execution_key('job', 'node', 'tool', json.loads(sys.argv[1])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(args)],
        env=os.environ | {"PYTHONHASHSEED": seed},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == execution_key("job", "node", "tool", args)


def test_the_external_key_is_stable_and_the_old_one_was_not() -> None:
    """T-KEY: the stable key does not know the claim; the one of S1 §4.2 changes with every reclaim."""
    key = execution_key("job", "node", "tool", {})
    assert stable_key(key) == f"crashwindow:{key}"
    assert attempt_key("job", "node", 1) != attempt_key("job", "node", 2)


def test_a_digest_is_of_the_canonical_bytes() -> None:
    """Equal values have equal digests, whatever the spelling: 1.0 is 1."""
    assert digest({"a": 1.0, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest(None) != digest({})


def test_the_enumeration_of_keys_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ids joined without a separator two of the steps that nearly collide share a key, and it is said which."""
    assert keys.check().verdict is Verdict.TESTED
    monkeypatch.setattr(keys, "execution_key", lambda job, node, tool, args: f"{job}{node}{tool}{args!r}")
    assert keys.check().verdict is Verdict.REFUTED
    assert "share" in keys.check().statement
