"""Heads from Penn constituents, against trees worked out by hand."""

import re

import pytest

from headscope.corpora.trees.constituency import head_child, syntax_heads
from headscope.errors import InputError


def columns(tree: str) -> tuple[list[str], list[str], list[str]]:
    """Turn a bracketed tree into the words, tags and parse bits that OntoNotes writes."""
    words, tags, bits, before = [], [], [], ""
    for label, tag, word, closing in re.findall(r"\(([^\s()]+)(?=\s*\()|\(([^\s()]+) ([^\s()]+)\)|(\))", tree):
        if label:
            before += f"({label}"
        elif word:
            words.append(word)
            tags.append(tag)
            bits.append(before + "*")
            before = ""
        elif closing:
            bits[-1] += ")"
    return words, tags, bits


def heads(tree: str) -> str:
    """Return `word<head` for every word; the root is `word<`."""
    words, tags, bits = columns(tree)
    found = syntax_heads(bits, tags, origins=[f"line {n}" for n in range(1, len(words) + 1)])
    return " ".join(f"{word}<{words[head - 1] if head else ''}" for word, head in zip(words, found))


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (  # a plain clause: verb over subject, object and prepositional phrase
            "(TOP (S (NP-SBJ (DT The) (JJ old) (NN man)) (VP (VBD saw) (NP (NNP Mary)) (PP (IN in) (NP (NNP Rome))))"
            " (. .)))",
            "The<man old<man man<saw saw< Mary<saw in<saw Rome<in .<saw",
        ),
        (  # a phrase after the noun phrase does not head it: prepositional phrase, relative clause
            "(TOP (NP (NP (DT the) (NN President)) (PP (IN of) (NP (NNP France)))))",
            "the<President President< of<President France<of",
        ),
        (
            "(TOP (NP (NP (DT the) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBD left))))))",
            "the<man man< who<man left<who",
        ),
        (  # a possessive is headed by its noun, and modifies the other noun
            "(TOP (NP (NP (NNP John) (POS 's)) (NN house)))",
            "John<house 's<John house<",
        ),
        ("(TOP (NP (NNP John) (POS 's)))", "John< 's<John"),
        (  # names and compounds: the last noun
            "(TOP (NP (NNP Mr.) (NNP John) (NNP Smith)))",
            "Mr.<Smith John<Smith Smith<",
        ),
        (  # an apposition is headed by its first phrase
            "(TOP (NP (NP (NNP Smith)) (, ,) (NP (DT the) (NN lawyer)) (, ,)))",
            "Smith< ,<Smith the<lawyer lawyer<Smith ,<Smith",
        ),
        (  # coordination: the first conjunct, flat or not, with commas and `both`
            "(TOP (NP (NNP John) (CC and) (NNP Mary)))",
            "John< and<John Mary<John",
        ),
        ("(TOP (NP (NNP John) (, ,) (NNP Paul) (CC and) (NNP Mary)))", "John< ,<John Paul<John and<John Mary<John"),
        (
            "(TOP (NP (DT the) (JJ big) (, ,) (JJ red) (NN house) (CC and) (DT the) (NN barn)))",
            "the<house big<house ,<house red<house house< and<house the<house barn<house",
        ),
        ("(TOP (NP (CC both) (NP (NNS cats)) (CC and) (NP (NNS dogs))))", "both<cats cats< and<cats dogs<cats"),
        ("(TOP (NP (NML (NN oil) (CC and) (NN gas)) (NN company)))", "oil<company and<oil gas<oil company<"),
        (
            "(TOP (S (S (NP (PRP I)) (VP (VBD came))) (CC and) (S (NP (PRP he)) (VP (VBD left)))))",
            "I<came came< and<came he<left left<came",
        ),
        (  # quantities: the number or the currency within, the noun over them
            "(TOP (NP (QP (JJR more) (IN than) (CD five) (CD million)) (NNS people)))",
            "more<million than<million five<million million<people people<",
        ),
        ("(TOP (NP (QP ($ $) (CD 5) (CD million))))", "$< 5<$ million<$"),
        ("(TOP (NP (NP (CD one)) (PP (IN of) (NP (DT the) (NNS men)))))", "one< of<one the<men men<of"),
        ("(TOP (NP (DT the) (JJ poor)))", "the<poor poor<"),
        ("(TOP (NP (DT those)))", "those<"),
        ("(TOP (NP (PRP he)))", "he<"),
        (  # auxiliaries and the infinitive's `to` head the verb
            "(TOP (S (NP (PRP She)) (VP (MD will) (VP (VB try) (S (VP (TO to) (VP (VB go))))))))",
            "She<will will< try<will to<try go<to",
        ),
        (  # a subordinate clause: its conjunction; a wh-phrase: its noun
            "(TOP (S (NP (PRP I)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP it)) (VP (VBZ works)))))))",
            "I<know know< that<know it<works works<that",
        ),
        (
            "(TOP (SBARQ (WHNP (WDT which) (NN house)) (SQ (VBD burnt)) (. ?)))",
            "which<house house<burnt burnt< ?<burnt",
        ),
        ("(TOP (NP (ADJP (RB very) (JJ old)) (NNS trees)))", "very<old old<trees trees<"),
        ("(TOP (PP (IN out) (PP (IN of) (NP (NN love)))))", "out< of<out love<of"),
        (  # only punctuation, or a label without a rule
            "(TOP (X (: --)))",
            "--<",
        ),
        ("(TOP (INTJ (UH oh) (UH well) (. !)))", "oh<well well< !<well"),
        ("(TOP (FRAG (NP (NNP Rome)) (, ,) (NP (CD 1999))))", "Rome<1999 ,<1999 1999<"),
    ],
)
def test_hand_worked_trees(tree: str, expected: str):
    assert heads(tree) == expected


def test_function_tags_and_indices_do_not_matter():
    children = [("DT", 1), ("NN", 2), ("PP", 3)]
    assert head_child("NP", children) == 2
    _, tags, bits = columns("(TOP (NP-SBJ=2 (DT the) (NN man)))")
    assert syntax_heads(bits, tags, origins=["", ""]) == (2, 0)


def test_a_deep_tree_needs_no_deep_stack():
    depth = 5_000
    assert syntax_heads(["(NP" * depth + "*" + ")" * depth], ["NN"], origins=["line 1"]) == (0,)


@pytest.mark.parametrize(
    ("bits", "message"),
    [
        (["(TOP(S*", "x", "*))"], "line 2: expected a part of a parse such as (S(NP*, * or *)), found x; mend it"),
        (["(TOP**)"], "line 1: expected a part of a parse such as (S(NP*, * or *)), found (TOP**); mend it"),
        (["(TOP(NP*)", "*"], "line 1: the bracket (TOP of the parse is never closed; close it with )"),
        (["(TOP*", "(NP*)", "(VP*"], "line 3: the bracket (VP of the parse is never closed; close it with )"),
        (["(TOP*))"], "line 1: the parse closes a bracket that is not open; remove one of the )"),
        (["*", "(TOP*)"], "line 1: the word stands outside the parse; begin the parse with it, as in (TOP*"),
        (
            ["(TOP*)", "(TOP*)"],
            "line 2: the parse has ended with the word before; put the sentence under one bracket, or a blank "
            "line between two sentences",
        ),
    ],
)
def test_a_parse_that_is_no_tree_is_refused(bits: list[str], message: str):
    with pytest.raises(InputError) as refused:
        syntax_heads(bits, ["NN"] * len(bits), origins=[f"line {n}" for n in range(1, len(bits) + 1)])
    assert str(refused.value) == message
