"""The model of a run with its head, whose loss is taken; it is loaded when it is needed."""

from dataclasses import dataclass

from headscope.attention.model.examination import examine
from headscope.models.anatomy import Anatomy
from headscope.models.loading.load_model import LoadedModel
from headscope.models.loading.task_heads import given_task_model, load_task_model
from headscope.models.losses import choose_loss
from headscope.prepare.model_run import ModelRun


@dataclass(frozen=True)
class LossModel:
    """A model that returns logits.

    Attributes:
        loss: its name, one of `encoding.choices.LOSSES`.
        loaded: the model with its tokenizer.
        anatomy: what `examine` found of it.
    """

    loss: str
    loaded: LoadedModel
    anatomy: Anatomy


def loss_of(run: ModelRun) -> str:
    """Return the name of the loss of a run: its option `loss`, or where that is `none` the loss of the model's kind.

    Raises:
        OptionError: the option is for another kind of model.
    """
    return choose_loss(run.options.loss, run.anatomy, name=run.loaded.name)


def loss_model(run: ModelRun) -> LossModel:
    """Load the model of a run with its head, and examine it.

    Raises:
        OptionError: the option `loss` is for another kind of model.
        ModelError: the checkpoint has no trained head for it.
    """
    options = run.options
    loss = loss_of(run)
    if options.loaded_model is not None:
        loaded = given_task_model(options.loaded_model, loss=loss)
    else:
        loaded = load_task_model(options.model, loss=loss, **options.loading)
    return LossModel(loss, loaded, examine(loaded.model, run.encoder.vocabulary))
