"""Defects that the tests find: some in every folder of src/headscope, each with the tests that should find it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Defect:
    """A small wrong change.

    Attributes:
        file: below src/headscope, or of a package.
        old: text that stands in it exactly once.
        new: what is put in its place.
        tests: files of tests that should find it, below tests; a single test where its file takes long.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def path(self) -> str:
        """Its file, from the root of the tree."""
        return self.file if self.file.startswith("packages/") else f"src/headscope/{self.file}"

    @property
    def folder(self) -> str:
        """The folder of src/headscope, or the package, that it is in."""
        parts = self.file.split("/")
        return parts[1] if parts[0] == "packages" else parts[0]


def _in(file: str, old: str, new: str, *tests: str) -> Defect:
    return Defect(file, old, new, tests)


STATS = "analyses/stats/test_accumulator.py"
DEFECTS = [
    # storage
    _in("storage/atomic.py", "if not replace and not is_free(path):", "if False:", "storage/test_atomic.py"),
    _in("storage/sealed.py", "(arrays, about) if content == _hash(arrays, about) else None", "(arrays, about)",
        "storage/test_checked_arrays.py"),
    _in("storage/places.py", "for path in folder.iterdir() if not is_own(path))", "for path in folder.iterdir())",
        "storage/test_unfinished.py"),
    # corpora
    _in("corpora/trees/clark2019.py", "yield number + 1 - len(block), block", "yield number - len(block), block",
        "corpora/test_relation_lines.py"),
    _in("corpora/trees/constituency.py", "heads[other - 1] = head", "heads[other - 1] = other",
        "corpora/test_constituency.py"),
    _in("corpora/trees/tree.py", "if head == word + 1:", "if head == word:", "corpora/test_conllu.py"),
    _in("corpora/mentions/brackets.py", "after = at if is_empty else at + 1", "after = at + 1",
        "corpora/test_entities.py"),
    _in("corpora/mentions/conll2012.py", "if any(part.number == other.number for other in parts):", "if False:",
        "corpora/test_conll2012.py"),
    _in("corpora/text/table.py", "separator = max(separators, key=header.count)",
        "separator = min(separators, key=header.count)", "corpora/test_tables.py"),
    _in("corpora/text/table.py", "if columns.count(column) != 1:", "if columns.count(column) < 1:",
        "corpora/test_tables.py"),
    # encoding
    _in("encoding/line_packing.py", 'skipped[NO_PAIR["paragraphs"]] += 1',
        'skipped[NO_PAIR["paragraphs"]] += 2', "encoding/test_packing.py"),
    _in("encoding/batching.py", "row[width - len(values) :] = values", "row[: len(values)] = values",
        "encoding/test_batching.py"),
    _in("encoding/shards.py", "(size_of_pending >= enough or", "(size_of_pending > enough or",
        "encoding/test_document_shards.py"),
    _in("encoding/denoising.py", "number = max(1, round(SHARE * len(places)))",
        "number = round(SHARE * len(places)) // 2", "encoding/test_masked_questions.py"),
    _in("encoding/denoising.py", "keep[span.start + 1 : span.stop] = False",
        "keep[span.start : span.stop] = False", "encoding/test_denoising.py"),
    _in("encoding/encoder.py", "return len(self.before) + len(self.after)", "return len(self.before)",
        "encoding/test_frame.py"),
    _in("encoding/vocabulary.py",
        'unicodedata.category(letter)[0] == "P"', 'unicodedata.category(letter)[0] == "S"',
        "encoding/test_vocabulary.py"),
    _in("encoding/loss_questions.py", "if len(segment) < 2:", "if len(segment) < 1:",
        "encoding/test_loss_questions.py"),
    # models
    _in("models/losses.py", 'any(part.kind == "decoder" for part in anatomy.layout)',
        'any(part.kind == "encoder" for part in anatomy.layout)', "models/test_losses.py"),
    _in("models/loading/task_heads.py", "more = len(missing) - 1", "more = len(missing)", "models/test_task_heads.py"),
    _in("models/loading/in_memory.py", 'or "Norm" in kind or', "or", "models/test_random_weights.py"),
    _in("models/folder/weight_files.py", 'if name != Path(name).name or "\\\\" in name', 'if "\\\\" in name',
        "hostile/test_model_folders.py"),
    _in("attention/model/segment_source.py",
        "return all(all(map(_same, *both)) for both in zip(padded, alone, strict=True))",
        "return True", "models/test_left_padding.py::test_what_is_padded_on_the_left_is_read_as_alone_or_refused"),
    # attention
    _in("attention/row_statistics.py", "first_row = max(0, -diagonal)",
        "first_row = max(0, 1 - diagonal)", STATS),
    _in("attention/row_statistics.py", "return entropy_of_key(weights).sum(-1)",
        "return entropy_of_key(weights).amax(-1)", STATS),
    _in("attention/visibility.py", "number = sums[..., -1].clamp(min=1) + self.sink",
        "number = sums[..., -1].clamp(min=1)", "attention/test_learned_sinks.py"),
    _in("attention/visibility.py", "(at[None, None, :] <= at[rows_of_part]", "(at[None, None, :] < at[rows_of_part]",
        "attention/test_long_inputs.py::test_what_rows_see_is_counted_in_blocks"),
    _in("attention/fused/statistics_pass.py", "statistics[:, :, 0, RowQuantity.PREVIOUS] = 0.0",
        "statistics[:, :, -1, RowQuantity.PREVIOUS] = 0.0", "attention/test_families.py"),
    _in("attention/head_id.py", "return self.layer - 1, self.head - 1", "return self.layer, self.head - 1",
        "attention/test_head_id.py"),
    _in("attention/word_rows.py", "int(segment.word_ids.max(initial=NO_WORD)) + 1",
        "int(segment.word_ids.max(initial=NO_WORD))", "attention/test_word_rows.py"),
    _in("attention/tile.py", "if not known or len(known) < len(parts):", "if not known:",
        "attention/test_head_vectors.py"),
    _in("attention/word_attention.py", "leads.cumsum(1) - 1, leader", "leads.cumsum(1), leader",
        "attention/test_word_attention.py"),
    _in("attention/output_norms.py", "return self.keys if self.pairs is None else self.pairs",
        "return self.keys", "attention/test_written.py", "attention/test_stream_addition.py"),
    # maps
    _in("maps/index.py", "return len(set(self.word_ids)) - (alone > 0) + alone", "return len(set(self.word_ids))",
        "maps/test_maps_source.py"),
    _in("maps/pickles.py", "if attns.shape[:2] != first:", "if attns.shape[:1] != first[:1]:", "maps/test_pickles.py"),
    # statistics
    _in("statistics/inference/confidence.py", "known = (estimate.documents >= FEWEST_DOCUMENTS)",
        "known = (estimate.documents > FEWEST_DOCUMENTS)", "statistics/test_confidence.py"),
    _in("statistics/inference/estimate.py", "moves - other_moves, (sizes + other_sizes) / 2",
        "moves + other_moves, (sizes + other_sizes) / 2", "statistics/test_confidence.py"),
    _in("statistics/inference/interval_ends.py", "return estimate.value - reach, estimate.value + reach",
        "return estimate.value - 2 * reach, estimate.value + reach", "statistics/test_confidence.py"),
    _in("statistics/roles.py", 'if row.get("margin", 1.0) >= LEAST_SHARE:', 'if row.get("margin", 1.0) < LEAST_SHARE:',
        "statistics/test_roles.py"),
    _in("statistics/inference/significance.py", "[first - 1 : -1].argmax(1)", "[first:].argmax(1)",
        "statistics/test_significance.py", "statistics/test_calibration.py"),
    _in("statistics/sums/groups.py", "sums.mean(2, keepdims=True)", "sums.sum(2, keepdims=True)",
        "statistics/test_layer_means.py"),
    _in("statistics/tables/frames.py", "if came != schema.names:", "if set(came) != set(schema.names):",
        "statistics/test_table_check.py"),
    _in("statistics/inference/derived.py",
        "_with_selection(ratio(times * hits, times * counts), ratio(hits, counts))", "ratio(hits, counts)",
        "statistics/test_derived.py"),
    # examples
    _in("examples/top_examples.py", "if len(kept) == self.most and entry >= kept[-1]:",
        "if len(kept) == self.most and entry <= kept[-1]:", "examples/test_top_examples.py"),
    # prepare
    _in("prepare/drawn_inputs.py", "if tokens > self.most:", "if tokens > 2 * self.most:",
        "prepare/test_segment_cache.py"),
    _in("prepare/overlap.py", "len(shared) / max(1, len(sentences))", "len(shared) / max(1, len(shared))",
        "prepare/test_overlap.py"),
    _in("scans/shard_checkpoint.py", "return shard % self.of == self.number - 1",
        "return shard % self.of == self.number", "running/test_parts.py::test_numbers_of_parts"),
    # figures
    _in("figures/label_places.py", "return across and self.bottom < other.top and other.bottom < self.top",
        "return across and self.bottom < other.top", "figures/test_label_places.py"),
    _in("figures/saving.py", 'without=("Date", "Creator")', 'without=("Creator",)',
        "figures/test_saving.py"),
    _in("figures/head_points.py", 'more = f" +{len(finds) - 1}"', 'more = f" +{len(finds)}"',
        "figures/test_finders.py"),
    _in("figures/settling.py", "    figure.set_layout_engine(None)", "    pass",
        "figures/test_settling.py", "figures/test_saving.py"),
    # views
    _in("views/quantize.py", "((np.arange(LEVELS + 1) / LEVELS) ** 2)", "(np.arange(LEVELS + 1) / LEVELS)",
        "views/test_quantize.py"),
    _in("views/snapshot/attention_snapshot.py", "if self.words and len(self.words) != n:", "if False:",
        "views/snapshot/test_attention_snapshot.py"),
    _in("views/snapshot/given_arrays.py", "if not 0 <= at < size]", "if not 0 <= at <= size]",
        "views/snapshot/test_given_arrays.py"),
    _in("views/state.py", "if labels and drawn.draws_several:", "if labels:", "views/test_state.py"),
    _in("views/markup.py", '.replace("\\x00", "␀")', "", "views/test_markup.py"),
    _in("views/static/core/base.css", "*{box-sizing:border-box}", "*{box-sizing:border-box}main{min-width:1500px}",
        "views/test_attention_hosting.py"),
    _in("views/static/core/colors.js", "return colors[head % colors.length];", "return colors[0];",
        "views/test_scripts.py"),
    _in("views/static/core/base.css", "footer{margin-top:56px;color:var(--soft)",
        "footer{margin-top:56px;color:var(--paper)",
        "reporting/test_browser.py::test_no_rule_of_accessibility_is_broken"),
    # reporting
    _in("present/words.py", 'if len(parts) > 1 else parts)', 'if len(parts) > 3 else parts)',
        "present/test_words.py"),
    _in("present/claim_rules.py", '"same" if not large else', '"same" if large else',
        "reporting/test_section_4_findings.py", "reporting/test_report.py"),
    _in("reporting/story.py", "if finding.topic == topic][:1]", "if finding.topic == topic][:2]",
        "reporting/test_every_finding.py"),
    _in("present/claim_rules.py", "for end in (cell.value, cell.ci_low, cell.ci_high)",
        "for end in (cell.value, cell.value, cell.ci_high)", "present/test_claim_rules.py"),
    _in("statistics/inference/significance.py", "(np.asarray(value) <= 0), 1.0, p)", "(np.asarray(value) <= 0), p, p)",
        "present/test_claim_rules.py"),
    _in("statistics/inference/significance.py", "(false_discovery(p) < SIGNIFICANT)", "(p < SIGNIFICANT)",
        "statistics/test_worth_saying.py"),
    _in("statistics/inference/significance.py", " & (np.abs(value) >= least)", "", "statistics/test_worth_saying.py"),
    # analyses: definitions that no renaming touches
    _in("analyses/distances/divergence.py",
        "(p * torch.log(p / middle) + q * torch.log(q / middle)).sum(-1) / 2",
        "(p * torch.log(p / middle) + q * torch.log(q / middle)).sum(-1)", "analyses/distances/test_divergence.py"),
    _in("analyses/coref/mentions.py", "min(leftmost.get(entity, head), head)",
        "max(leftmost.get(entity, head), head)", "analyses/coref/test_antecedents.py"),
    _in("analyses/norms/facts.py",
        "return self.sink_share > SINK_SHARE", "return self.sink_share < SINK_SHARE",
        "analyses/norms/test_page.py"),
    _in("analyses/syntax/relations.py",
        "return self.q < SIGNIFICANT and self.margin >= LEAST_SHARE", "return self.q < SIGNIFICANT",
        "analyses/syntax/test_relations.py"),
    _in("analyses/coref/gap.py", "return self.a[1] - 1, self.b[1] - 1",
        "return self.a[0], self.b[1] - 1", "analyses/coref/test_gap.py"),
    # analyses: those of the newer questions
    _in("analyses/explanation/row_block.py",
        "np.where(self.visible[..., None], logits.reshape(shape), logits.dtype.type(_HIDDEN))",
        "logits.reshape(shape).copy()", "analyses/explanation/test_fit.py::test_padding_takes_no_attention"),
    _in("analyses/explanation/order.py", "scales - np.clip(change, -1.0, 1.0)", "scales + np.clip(change, -1.0, 1.0)",
        "analyses/explanation/test_planted_heads.py"),
    _in("analyses/explanation/columns.py", "np.concatenate([np.zeros((1, COMPONENTS), np.float32), kinds[:-1]])",
        "kinds", "analyses/explanation/test_columns.py::test_every_column_is_its_product"),
    _in("analyses/explanation/explain.py", "sample.half(1 - parity, counted)",
        "sample.half(parity, counted)", "analyses/explanation/test_predicted.py"),
    _in("analyses/explanation/sentence.py", "explained - sum(part.share for part in named)",
        "explained - sum(part.share for part in merged)", "analyses/explanation/test_sentence.py"),
    _in("analyses/explanation/sentence.py", "sorted(merged, key=lambda part: -part.share)",
        "merged", "analyses/explanation/test_sentence.py"),
    _in("analyses/importance/sums.py", "torch.where(counted, weights, 0.0).mul_(signed)", "signed",
        "analyses/importance/test_accumulator.py"),
    _in("analyses/pca/directions.py", "covariance -= mean[:, :, None] * mean[:, None, :]", "pass",
        "analyses/pca/test_principal.py"),
    _in("analyses/distribution/compute.py", "np.minimum(low, least), np.maximum(high, most)", "low, high",
        "analyses/distribution/test_deciles.py"),
    _in("analyses/behaviors/compute.py", "& (shares.low > TIMES_UNIFORM * uniform)", "",
        "analyses/behaviors/test_measure.py", "analyses/behaviors/test_hand_made_heads.py"),
    _in("analyses/experiments/sums.py", "by_key.argmax(-1)", "by_key.argmin(-1)",
        "analyses/experiments/test_accumulators.py"),
    _in("analyses/stats/sums.py", "of_class if rows.inside else lengths - of_class", "of_class", STATS),
    _in("analyses/probes/parsers/decoding.py", "if (heads == 0).sum() != 1:", "if (heads == 0).sum() < 1:",
        "analyses/probes/test_decoding.py"),
    _in("analyses/probes/tree_sentences.py", 'index if drawn == "self"', '0 if drawn == "self"',
        "analyses/probes/test_tree_sentences.py"),
    # declarations, scans, signatures
    _in("declarations/run_options.py", "if self.treebank_train and not self.treebank:", "if False:",
        "running/test_stages.py::test_wrong_options_from_python"),
    _in("declarations/option.py", "if needed != word_level:", "if False:", "declarations/test_compat.py"),
    _in("scans/stage_sums.py", "self._inputs.hexdigest() != self._kept.inputs", "False",
        "scans/test_sharded_scan.py::test_other_inputs_than_those_of_the_stopped_run_are_refused"),
    _in("scans/stage_sums.py", "shard.number >= self._kept_shards and ", "",
        "scans/test_sharded_scan.py::test_stopped_at_each_shard_it_goes_on_with_that_shard"),
    _in("scans/progress.py", "return min(1.0, max(shares)) if shares else None",
        "return max(shares) if shares else None", "app/test_progress_lines.py"),
    _in("models/identity.py", "if name not in _WITHOUT_EFFECT", "if name in _WITHOUT_EFFECT",
        "models/test_identity.py"),
    _in("running/run_folder.py", '"weights", "configuration", "family", "special"',
        '"weights", "family", "special"', "models/test_identity.py"),
    # training
    _in("packages/headscope-train/src/headscope_train/optimizer.py",
        "[p for p in trainable if p.ndim > 1]", "[p for p in trainable if p.ndim > 2]",
        "training/test_optimizer.py"),
    _in("packages/headscope-train/src/headscope_train/scores.py",
        "scores.argmax(-1) == targets", "scores.argmin(-1) == targets", "training/test_scores.py"),
    _in("packages/headscope-train/src/headscope_train/packed_corpus.py",
        "part = slice(self.starts[index], self.starts[index + 1])",
        "part = slice(self.starts[index], self.starts[index + 1] - 1)", "training/test_packed_corpus.py"),
    _in("packages/headscope-train/src/headscope_train/running_text.py",
        "if len(part) < _FEWEST:", "if len(part) <= _FEWEST:",
        "training/test_running_text.py"),
    # study
    _in("running/run_folder.py", "-and-{len(read) - 1}-more", "-and-{len(read)}-more", "running/test_run_name.py"),
    _in("running/shard_worker.py", "self._drawn - self._taken < self._ahead", "True",
        "running/cluster/test_shard_jobs.py"),
    _in("running/writing.py", 'same = before.content["signature"].get("versions") == run.signature["versions"]',
        "same = True", "running/test_run.py::test_what_other_versions_measured_is_not_taken_over"),
    _in("present/paper_table.py", 'model.get("origin") == "hub"', "True",
        "running/test_run.py::test_the_papers_column_is_for_the_papers_model"),
    _in("running/writing.py", "forget_shards(out, [stage.name])", "pass",
        "running/test_shared_scan.py::test_stopped_between_stages_no_other_is_computed_again",
        "running/test_killed_scan.py"),
    # atlas
    _in("reporting/functions.py", 'head_index(best.layer, best.head),\n                "accuracy"',
        'head_index(best.layer, best.head) + 1,\n                "accuracy"', "atlas/test_blocks.py"),
    _in("reporting/functions.py", "or np.isfinite(values).any()", "or np.isfinite(values).all()",
        "atlas/test_functions.py"),
    # app, bertviz
    _in("app/on_text.py", "if not 1 <= label <= most]", "if not 0 <= label <= most]",
        "app/test_attention_array.py"),
    _in("app/cli/view.py", "range(int(first), int(last or first) + 1)", "range(int(first), int(last or first))",
        "app/test_view.py"),
    _in("app/explorer/page.py", "elif origin is not None and origin.lower() != f", "elif origin is not None and not f",
        "app/test_explorer_door.py"),
    _in("app/explorer/web_app.py", "queue.Queue(waiting)", "queue.Queue(waiting + 1)", "app/test_explorer_looks.py"),
    _in("bertviz/showing.py", 'if html_action == "return":', 'if html_action != "return":', "bertviz/test_bertviz.py"),
]  # fmt: skip
