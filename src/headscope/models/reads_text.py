"""Whether a model reads text at all, known before anything of it is run; and the families that work, for messages."""

import inspect

from torch import nn

from headscope.errors import ModelError
from headscope.models.folder.shown import shown


def check_reads_text(model: nn.Module) -> None:
    """Refuse a model of pictures or sound, and one without numbers.

    Raises:
        ModelError: says what the model takes.
    """
    name = type(model).__name__
    parameters = list(inspect.signature(model.forward).parameters)
    if "input_ids" not in parameters:
        raise ModelError(
            f"{name} reads no text: it takes {shown(', '.join(parameters[:2]), limit=60)}; expected a model that takes "
            f"token ids (input_ids); these families work: {WORKING_FAMILIES}"
        )
    if any(part.is_meta for part in model.parameters()):
        raise ModelError(
            f"{name} has no numbers: it lies on the meta device, as a model made to be filled later does; load its "
            "weights with from_pretrained"
        )


WORKING_FAMILIES = (
    "BERT, DistilBERT, RoBERTa, XLM-R, CamemBERT, ELECTRA, ALBERT, ModernBERT, GPT-2, GPT-NeoX, OPT, Llama, Mistral, "
    "Qwen3, Gemma 2 and 3, Phi-3, T5, BART, DeBERTa-v2, MPNet"
)
