"""Defects of the analysis of what draws heads."""

from .defect import defect

_PULL = "analyses/why/test_pulls.py::test_a_pull_worked_by_hand"
_ACCOUNTS = "analyses/why/test_pulls.py::test_accounts_are_those_of_the_definition"
_MASS = "analyses/why/test_pulls.py::test_rows_count_as_much_as_they_attend_off_the_sink"
_BY_HAND = "analyses/why/test_families.py::test_each_source_has_what_plain_loops_over_modules_find"
_NAMES = "analyses/why/test_families.py::test_every_head_and_mlp_below_is_a_source_and_none_above"
_SCORES = "analyses/why/test_families.py::test_sources_sum_to_the_scores"
_PAGE = "analyses/why/test_page.py"
_MAP = "analyses/why/test_circuit_browser.py"

ANALYSES_WHY = [
    defect("analyses/why/pulls.py", "(attention / mass.clamp(min=tiny) - uniform)",
        "(uniform - attention / mass.clamp(min=tiny))", _PULL),
    defect("analyses/why/pulls.py", "((scores.queries, read_keys), (scores.keys, read_queries))",
        "((scores.keys, read_queries), (scores.queries, read_keys))", _PULL),
    defect("analyses/why/pulls.py", "scores.scaling * values", "values", _ACCOUNTS),
    defect("analyses/why/pulls.py", "by_group.transpose(1, 2).flatten(2)",
        "by_group.reshape(len(products), many, heads)", _ACCOUNTS),
    defect("analyses/why/pulls.py", "(each.sum(0) > 1).any()", "False",
        "analyses/why/test_pulls.py::test_heads_are_led_back_together_unless_they_share_columns"),
    defect("analyses/why/pulls.py", "keys.repeat_interleave(shared, dim=-3)", "torch.cat([keys] * shared, dim=-3)",
        _ACCOUNTS),
    defect("analyses/why/pulls.py", "[KeyClass.CLS, KeyClass.SEP]", "[KeyClass.CLS]", _PULL),
    defect("analyses/why/pulls.py", "rows = mass if name == NON_SINK else", "rows = mass if name == ALL else", _MASS),
    defect("analyses/why/pulls.py", "counted.sum(-1, keepdim=True) > 1", "counted.sum(-1, keepdim=True) > 0",
        "analyses/why/test_pulls.py::test_tilts_are_those_of_the_definition"),
    defect("analyses/why/pulls.py", "(tilt * scores.bias).sum((2, 3))", "(weights * scores.bias).sum((1, 2))",
        "analyses/why/test_pulls.py::test_what_is_added_to_all_keys_of_a_row_draws_to_none"),
    defect("analyses/why/rows.py", "moved - np.take_along_axis(moved, most, -1),",
        "moved - np.take_along_axis(moved, most, -1).mean(0),",
        "analyses/why/test_rows.py::test_replacements_are_compared_by_their_paired_difference"),
    defect("analyses/why/sums.py", 'frozenset({"pulls"})\n    span: ClassVar[Span] = "layer"',
        'frozenset({"pulls"})\n    span: ClassVar[Span] = "rows"',
        "analyses/why/test_sums.py::test_a_layer_in_several_tiles_is_added_once"),
    defect("analyses/why/source.py", "set_parts(value, parts)\n", "pass\n", f"{_NAMES}[albert]"),
    defect("analyses/why/source.py", "        if number:\n", "        if number > 1:\n",
        f"{_BY_HAND}[t5]"),
    defect("analyses/why/tracing.py", "scaled.addcmul_(block.mean(-1, keepdim=True), factor, value=-1)", "pass",
        f"{_BY_HAND}[bert]"),
    defect("analyses/why/tracing.py", "parts.with_constant(constant, lambda: bias.reshape",
        "parts.with_constant(constant, lambda: 2 * bias.reshape", f"{_SCORES}[bert]"),
    defect("analyses/why/tracing.py", "OUTPUT_BIAS if from_heads else BIAS", "BIAS", f"{_BY_HAND}[gpt2]"),
    defect("analyses/why/tracing.py", '"segment" if "type" in last else "token"', '"token"', f"{_BY_HAND}[bert]"),
    defect("analyses/why/tracing.py", 'Source("mlp", kind, layer)', 'Source("mlp", kind, max(layer - 1, 0))',
        f"{_NAMES}[llama]"),
    defect("analyses/why/circuit.py", "if row.established and row.head is not None", "if row.head is not None",
        f"{_PAGE}::test_a_head_that_is_not_established_has_no_arc_and_is_on_no_card"),
    defect("analyses/why/circuit.py", "arc.source.kind == arc.drawn.kind == kind.name", "arc.drawn.kind == kind.name",
        f"{_PAGE}::test_an_arc_between_kinds_of_attention_is_on_cards_alone"),
    defect("views/static/report/circuit.js", "source === this.at || drawn === this.at", "source === this.at",
        f"{_MAP}::test_pointing_at_a_head_leaves_its_arcs_alone_and_names_them"),
    defect("views/static/report/circuit.js", "1.08 * edge", "0.2 * edge",
        f"{_MAP}::test_arcs_leave_the_lower_edge_of_their_source_and_enter_the_upper_edge_of_the_drawn_head"),
    defect("views/static/report/circuit.css", "{--axis:18px;--gap:2px}", "{--axis:44px}",
        f"{_MAP}::test_arcs_leave_the_lower_edge_of_their_source_and_enter_the_upper_edge_of_the_drawn_head"),
    defect("views/static/report/circuit.css", ".circuit-arc.query .line{stroke-dasharray:7 4}", "",
        f"{_MAP}::test_an_arc_is_the_wider_the_larger_its_share_and_sides_differ_without_color"),
]  # fmt: skip
