"""The run's model with its head, used to compute a loss; it is loaded when it is needed."""

from dataclasses import dataclass

from headscope.attention.model.examination import examine
from headscope.encoding.choices import LABELS
from headscope.encoding.loss_questions import Ask, ClassOfText
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy
from headscope.models.load_model import LoadedModel
from headscope.models.losses import ask_of, choose_loss, classes_of
from headscope.models.task_heads import given_task_model, load_task_model
from headscope.scans.prepare.prepared_run import ModelRun


@dataclass(frozen=True)
class LossModel:
    """A model that returns logits.

    Attributes:
        loss: name of the loss, one of `encoding.choices.LOSSES`, or `LABELS`.
        loaded: the model with its tokenizer.
        anatomy: result of `examine` for the model.
    """

    loss: str
    loaded: LoadedModel
    anatomy: Anatomy


def loss_of(run: ModelRun) -> str:
    """Return the name of a run's loss: its option `loss`, or if that is `none` the loss of the model's kind.

    Raises:
        OptionError: `loss` or `labels` is for another kind of model.
    """
    options = run.options
    return choose_loss(options.loss, run.anatomy, name=run.loaded.name, labels=options.labels)


def ask_of_run(run: ModelRun, model: LossModel) -> Ask:
    """Return the function that makes the questions of a run's loss.

    Args:
        run: run whose options choose the questions.
        model: result of `loss_model` for this run.

    Raises:
        ModelError: the tokenizer has no mask token, or the model does not distinguish classes.
    """
    options, loaded, anatomy = run.options, model.loaded, model.anatomy
    if options.labels is None:
        return ask_of(model.loss, loaded.tokenizer, anatomy, seed=options.seed)
    classes = classes_of(loaded.model, name=loaded.name)
    return ClassOfText(options.labels, classes)


def loss_model(run: ModelRun) -> LossModel:
    """Load the model of a run with its head, and examine it.

    Raises:
        OptionError: the option `loss` is for another kind of model.
        ModelError: the checkpoint has no trained head for the loss, or a text classifier cannot tell where a text ends.
    """
    options = run.options
    loss = loss_of(run)
    if options.loaded_model is not None:
        loaded = given_task_model(options.loaded_model, loss=loss)
    else:
        loaded = load_task_model(options.model, loss=loss, **options.loading)
    config = loaded.model.config
    decoder = any(part.kind == "decoder" for part in run.layout)
    if loss == LABELS and decoder and config.pad_token_id is None:
        raise ModelError(
            f"{loaded.name} names no padding token, so it cannot tell where a text of a batch ends; write pad_token_id "
            "into its config.json"
        )
    return LossModel(loss, loaded, examine(loaded.model, run.encoder.vocabulary))
