"""The options of a run: their checks, and what follows from them: stages to measure and corpora to read."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headscope.encoding.choices import LOADING
from headscope.errors import OptionError
from headscope.scans.declarations.analysis import Stage
from headscope.scans.declarations.analysis_list import (
    STAGES,
    check_requests,
    needed_requests,
    requests_of,
    stages_requested,
)
from headscope.scans.declarations.option import ORIGINAL, check_compat, documented, options_of, pooling_of, spacing_of
from headscope.scans.declarations.option_list import OptionList
from headscope.scans.declarations.user_functions import hash_of_features, hash_of_score, hash_of_vectors


@documented
@dataclass(frozen=True, kw_only=True)
class RunOptions(OptionList):
    """Options of a run, with the names of the command line, which is generated from them."""

    def __post_init__(self) -> None:
        for name, each in options_of(type(self)).items():
            each.check(getattr(self, name))
        check_compat(self.compat, {name: getattr(self, name) for name in ORIGINAL})
        if self.maps is None:
            # Set here, so that signature, manifest and stages agree; saved maps may have fixed it already.
            object.__setattr__(self, "pooling", pooling_of(self.compat, self.pooling))
            object.__setattr__(self, "spacing", spacing_of(self.compat, self.spacing))
        check_requests(stages=self.stages, include=self.include, over_maps=self.maps is not None)
        if self.skip and not self.wanted:
            raise OptionError("--skip leaves nothing to measure; skip less")
        if self.maps is not None:
            self._check_beside_maps()
        if self.treebank_train and not self.treebank:
            raise OptionError(
                "--treebank-train was given without --treebank; probes are trained on the one and measured on the other"
            )

    def _check_beside_maps(self) -> None:
        """Raise an error for options that control how a model reads a corpus, as saved maps have been read already."""
        if self.corpora:
            raise OptionError("both a corpus and saved maps were given; a run reads one of them")
        if self.loss != "none":
            raise OptionError(
                "saved maps hold no gradients; leave --loss out, or give a model and text in place of --maps"
            )
        if self.model is not None or self.loaded_model is not None or self.revision is not None:
            raise OptionError("--maps already holds a model's attention; leave --model and --revision out")
        if self.shuffled:
            raise OptionError("--maps holds what a model made of the words in order; leave --shuffled out")
        if self.spacing:
            raise OptionError("--maps holds what a model made of the words as they were joined; leave --spacing out")

    @property
    def corpora(self) -> frozenset[str]:
        """The corpora that the given files may contain, by the names that stages use."""
        set_options = (each for name, each in options_of(type(self)).items() if each.holds and getattr(self, name))
        corpora = frozenset(corpus for each in set_options for corpus in each.holds)
        return corpora | {"text"} if self.documents_in_memory else corpora

    @property
    def wanted(self) -> tuple[str, ...]:
        """The requests to measure, from `requests.REQUESTS`."""
        defaults = [stage for stage in STAGES.values() if self._is_default(stage)]
        requests = requests_of(defaults, stages=self.stages, include=self.include, skip=self.skip)
        needed = needed_requests(requests, vars(self))
        if not needed:
            return requests
        include = (*self.include, *needed)
        return requests_of(defaults, stages=self.stages, include=include, skip=self.skip)

    @property
    def measured(self) -> list[Stage]:
        """The stages that the run measures, in order, if its files hold the corpora that they read."""
        return stages_requested(self.wanted, vars(self))

    def _is_default(self, stage: Stage) -> bool:
        """Return True if a stage is measured without a request: its corpora and required options are given."""
        if stage.by_name or (self.maps is not None and stage.refusal):
            return False
        options = options_of(type(self))
        corpora = self.corpora
        if not corpora and self.maps is None:
            demonstrated = (each.holds for each in options.values() if each.demonstrated)
            corpora = frozenset(corpus for holds in demonstrated for corpus in holds)
        # There is always text: that of the annotated corpora, if there is no other.
        read = all(corpus == "text" or corpus in corpora for corpus in stage.corpora)
        return read and all(getattr(self, name) != options[name].default for name in stage.required_options)

    @cached_property
    def corpora_read(self) -> frozenset[str]:
        """The corpora that the measured stages read, by the names that stages use; `text` for the text itself."""
        corpora = frozenset(corpus for stage in self.measured for corpus in self.corpora_of(stage))
        # Without a text, sentences of the annotated corpora are the text, whether or not trees and mentions are read.
        annotated = self.corpora if "text" in corpora and "text" not in self.corpora else frozenset()
        return corpora | (annotated - {"treebank_train"})

    def corpora_of(self, stage: Stage) -> tuple[str, ...]:
        """Return the corpora that a stage reads, including the optional ones that are given."""
        return (*stage.corpora, *(corpus for corpus in stage.optional_corpora if corpus in self.corpora))

    @property
    def loading(self) -> dict[str, Any]:
        """The arguments of `load_model` for a model that is given by name."""
        return {name: getattr(self, name) for name in LOADING}

    @cached_property
    def vectors_hash(self) -> str | None:
        """Hash of the file of word vectors, which replaces its path in the signature."""
        return None if self.vectors is None else hash_of_vectors(self.vectors)

    @cached_property
    def features_hash(self) -> str | None:
        """The hash of the features, which replaces them in the signature."""
        return hash_of_features(self.features)

    @cached_property
    def score_hash(self) -> str | None:
        """The name and hash of the user's score, which replace it in the signature."""
        return hash_of_score(self.score)

    @cached_property
    def shaping(self) -> dict[str, object]:
        """The options that change numbers, for the signature."""
        over_maps = self.maps is not None
        shaping = {
            name: getattr(self, name)
            for request in self.wanted
            for stage in self.measured
            if stage.request_name == request
            for name in stage.shaping(maps=over_maps)
        }
        return shaping if over_maps else {"stages": list(self.wanted), **shaping}
