"""A run over saved attention maps: the same tables without a model or a tokenizer."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from headscope.encoding.max_inputs import draw_inputs
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.tokenizer.token_names import joined_tokens, named_tokens
from headscope.maps.index import MapEntry
from headscope.maps.map_shards import rows_of
from headscope.maps.maps_source import MapsSource
from headscope.models.anatomy import KindLayout
from headscope.scans.declarations.option import pooling_of_maps
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.examples.collector import MOST_TOKENS, ExampleMaps, MapTokens
from headscope.scans.examples.excerpts import Excerpt
from headscope.scans.prepare.reading_model import make_signature
from headscope.statistics.inference.confidence import too_few

_MOST_EXAMPLES = 48
# Fields that maps made by other programs may lack.
_UNKNOWN = {"name": "unknown", "revision": None, "weights": None, "family": None}


class MapsRun:
    """Saved maps, ready to be scanned.

    Args:
        options: options of the run; `maps` names the folder.

    Raises:
        InputError: the folder has no maps, or damaged ones.
        OptionError: the option for pooling differs from the pooling of maps by word.
    """

    def __init__(self, options: RunOptions) -> None:
        assert options.maps is not None
        self._source = MapsSource(options.maps)
        index = self._source.index
        pooling = pooling_of_maps(index.word_level, requested=options.pooling, compat=options.compat)
        self.options = options = replace(options, pooling=pooling)
        if options.max_inputs is not None:
            self._source = self._source.only(_drawn(index.entries, limit=options.max_inputs, seed=options.seed))
        self.entries = self._source.index.entries
        # For quick look-up, by document and index; if several entries have the same key, the first is used.
        self._by_key = {(entry.document, entry.index): entry for entry in reversed(self.entries)}
        self._documents = {entry.document for entry in self.entries}
        saved = dict(index.signature)
        self.signature: dict[str, Any] = make_signature(
            model={**_UNKNOWN, **index.model, "special": dict(index.special)},
            tokenizer=str(saved.get("tokenizer")),
            corpus={
                "name": "saved maps",
                "hash": blake2b("".join(s.hash for s in index.shards).encode(), digest_size=16).hexdigest(),
                **saved.get("corpus", {}),
                "documents": len(self._documents),
            },
            options={
                **saved.get("options", {}),
                "maps": index.store,
                "word_level": index.word_level,
                **options.shaping,
                # The files' own hashes: they identify the data that was read, whatever the index says of its origin.
                "shards": [shard.hash for shard in index.shards],
            },
            seed=options.seed,
        )

    @property
    def layout(self) -> tuple[KindLayout, ...]:
        """The kinds of attention."""
        return self._source.layout

    @property
    def lacking(self) -> frozenset[str]:
        """Kinds of annotation that maps cannot have: they have text and trees (from a treebank), but no mentions."""
        return frozenset({"coreference", "gap"})

    @property
    def total(self) -> int | None:
        """The number of documents of the entries that are scanned."""
        return len(self._documents)

    def done(self, segments: int) -> int:
        """Return the approximate number of documents that a number of segments covers."""
        return len(self._documents) * segments // max(1, len(self.entries))

    def source(self) -> MapsSource:
        """Return the stream of tiles."""
        return self._source

    def only(self, indices: Sequence[int]) -> MapsSource:
        """Return the stream of tiles over a selection of the entries."""
        return self._source.only(indices)

    def example_source(self) -> MapsSource:
        """Return the stream of tiles over the shortest segments."""
        indices = sorted(range(len(self.entries)), key=lambda index: len(self.entries[index].input))
        short = [index for index in indices if len(self.entries[index].input) <= MOST_TOKENS]
        return self._source.only((short or indices[:8])[:_MOST_EXAMPLES])

    def names(self, maps: ExampleMaps) -> MapTokens:
        """Return readable tokens of a map's rows and columns, cut to the size of the map."""
        entry = self._by_key[maps.document, maps.segment]
        by_word = self._source.index.word_level is not None
        rows = rows_of(entry.queries(maps.kind), by_word=by_word).tokens
        keys = rows_of(entry.keys(maps.kind), by_word=by_word).tokens
        pieces = [] if by_word else joined_tokens(entry.keys(maps.kind).tokens[: len(maps.keys)])
        return MapTokens(rows[: len(maps.queries)], keys[: len(maps.keys)], pieces)

    def again(self, segments: Iterable[Segment]) -> MapsSource:
        """Return the stream of tiles over segments that a scan kept, to read values that it did not keep."""
        wanted = {(segment.document, segment.index) for segment in segments}
        indices = enumerate((entry.document, entry.index) for entry in self.entries)
        return self.only([index for index, key in indices if key in wanted])

    def excerpt_words(self, excerpt: Excerpt) -> tuple[list[str], list[str], str]:
        """Return tokens of an excerpt's rows and columns, and the text that the model read there."""
        kind, by_word = excerpt.wanted.kind, self._source.index.word_level is not None
        entry = self._by_key[excerpt.wanted.document, excerpt.wanted.segment]
        sides = (entry.queries(kind), entry.keys(kind))
        tables = [rows_of(side, by_word=by_word) for side in sides]
        rows, keys = (
            [table.tokens[index] for index in indices.tolist()]
            for table, indices in zip(tables, (excerpt.rows, excerpt.columns), strict=True)
        )
        read = 1 if kind == "cross" else 0
        indices = (excerpt.rows, excerpt.columns)[read].tolist()
        words = {tables[read].word_ids[index] for index in indices} - {NO_WORD}
        if entry.words:
            return rows, keys, " ".join(entry.words[word] for word in sorted(words))
        pieces = [token for token, word in zip(sides[read].tokens, sides[read].word_ids, strict=True) if word in words]
        named = named_tokens(pieces)
        return rows, keys, " ".join(named.text or named.tokens)

    def joined(self, excerpt: Excerpt) -> list[int]:
        """Return the 0-based indices of rows that continue the previous row's word; an empty list for maps by word."""
        if self._source.index.word_level is not None:
            return []
        entry = self._by_key[excerpt.wanted.document, excerpt.wanted.segment]
        tokens = entry.queries(excerpt.wanted.kind).tokens
        return joined_tokens([tokens[index] for index in excerpt.rows.tolist()])

    def facts(self) -> dict[str, Any]:
        """Return the manifest's facts on the run beyond its signature."""
        notes = [f"read from saved maps ({self._source.index.store})"]
        if self._source.index.word_level is not None:
            notes.append("the maps are by word, so positions count words")
        if few := too_few(len(self._documents)):
            notes.append(few)
        counts = {
            "documents": len(self._documents),
            "documents_used": len(self._documents),
            "segments": len(self.entries),
            "tokens": sum(len(entry.input) for entry in self.entries),
            "truncated": sum(entry.shortened for entry in self.entries),
            "skipped": 0,
            "skipped_why": {},
        }
        return {"counts": counts, "tap": "maps", "device": "cpu", "notes": notes}


def _drawn(entries: Sequence[MapEntry], *, limit: int, seed: int) -> list[int]:
    """Return the indices of the entries that a limit selects."""
    drawn = draw_inputs(((entry.document, entry.index) for entry in entries), limit=limit, seed=seed)
    return [index for index, entry in enumerate(entries) if (entry.document, entry.index) in drawn]
