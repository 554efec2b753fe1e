"""The model of a run, examined and ready to read inputs, and models with the same shape and random weights."""

from copy import copy

from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.declarations.run_options import RunOptions
from headscope.encoding.choices import precision_note
from headscope.encoding.encoder import Encoder
from headscope.encoding.shards import BatchLimit, Inputs, ShardedBatches
from headscope.models.anatomy import Anatomy
from headscope.models.loading.in_memory import dtype_of, with_random_weights, without_head
from headscope.models.loading.load_model import LoadedModel, load_model
from headscope.models.placement import device_of, weight_bytes
from headscope.prepare.input_sizes import auto_batch_size, check_length
from headscope.prepare.signature import model_facts

_CONTROL_BYTES = 1 << 30
"""Models with random weights are kept for all stages while together they take no more bytes than this."""


class ReadingModel:
    """A model that reads the inputs of a run.

    Args:
        with_head: the model as it was loaded.
        token_types: token types of pairs, as in `Encoder`.
        max_length: maximum number of tokens in an input.
        batch_size: number of inputs per batch; None chooses it by length and device.

    Attributes:
        loaded: the model, below its vocabulary head.
        encoder: encoder that wraps its tokenizer.
        anatomy: its heads.
        facts: its part of the signature.

    Raises:
        HeadscopeError: the model has no attention heads, or cannot read inputs of that length.
    """

    def __init__(self, with_head: LoadedModel, *, token_types: str, max_length: int, batch_size: int | None) -> None:
        self.loaded = without_head(with_head)
        self.encoder = Encoder(self.loaded.tokenizer, token_types=token_types)
        self.anatomy: Anatomy = examine(self.loaded.model, self.encoder.vocabulary)
        check_length(max_length, self.loaded, self.encoder, self.anatomy)
        self.facts = model_facts(with_head, self.encoder.vocabulary)
        self._max_length, self._batch_size = max_length, batch_size
        self._trained = ModelSource(self.loaded.model, self.anatomy, self.encoder.vocabulary, ())
        self._controls: dict[int, ModelSource] = {}
        self._limit = BatchLimit()

    def source(self, inputs: Inputs, *, length: int | None = None, control: int | None = None) -> ModelSource:
        """Return the stream of tiles over inputs.

        Args:
            inputs: segments, or shards of segments.
            length: approximate length of the inputs, for the batch size; the longest allowed when None.
            control: seed of the model with random weights that reads them in place of the trained one.
        """
        size = self._batch_size or auto_batch_size(length or self._max_length, self.anatomy, self.loaded)
        source = copy(self._trained if control is None else self._control(control))
        source.batches = ShardedBatches(inputs, batch_size=size, limit=self._limit)
        return source

    def _control(self, seed: int) -> ModelSource:
        """Return the source with the random weights of a seed; it is made once for all stages if memory allows."""
        if seed not in self._controls:
            if (len(self._controls) + 1) * weight_bytes(self.loaded.model) > _CONTROL_BYTES:
                self._controls.clear()
            model = with_random_weights(self.loaded.model, seed=seed)
            # The architecture is the same, so the anatomy of the trained model applies.
            self._controls[seed] = ModelSource(model, self.anatomy, self.encoder.vocabulary, ())
        return self._controls[seed]

    @property
    def device(self) -> str:
        """Name of the device that computes."""
        return str(device_of(self.loaded.model))

    def notes(self) -> list[str]:
        """Return notes on the model for the user."""
        notes = list(self.anatomy.notes)
        if self.anatomy.encoder_decoder:
            notes.insert(0, "the decoder reads the encoder's text again, shifted right by its start token")
        if low := precision_note(dtype_of(self.loaded)):
            notes.append(low)
        notes += filter(None, [self.anatomy.path_note, self._limit.note])
        return notes


def open_model(options: RunOptions) -> ReadingModel:
    """Load the model of a run, unless it is already in memory, and examine it.

    Raises:
        HeadscopeError: it cannot be loaded, has no attention heads, or cannot read inputs of that length.
    """
    loaded = options.loaded_model or load_model(options.model, **options.loading)
    return ReadingModel(
        loaded, token_types=options.token_types, max_length=options.max_length, batch_size=options.batch_size
    )
