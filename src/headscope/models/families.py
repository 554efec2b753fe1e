"""Families of models, by what is known to work with them."""

# Plain softmax(scale q k' + bias + mask) v; each is proven against eager in the tests, and again at every start.
FUSED_FAMILIES = frozenset(
    [
        "albert",
        "bart",
        "bert",
        "camembert",
        "distilbert",
        "electra",
        "gpt2",
        "gpt_neox",
        "llama",
        "mistral",
        "modernbert",
        "opt",
        "qwen2",
        "qwen3",
        "roberta",
        "t5",
        "xlm-roberta",
    ]
)
WORKING_FAMILIES = (
    "BERT, DistilBERT, RoBERTa, XLM-R, CamemBERT, ELECTRA, ALBERT, ModernBERT, GPT-2, GPT-NeoX, OPT, Llama, Mistral, "
    "Qwen3, Gemma 2 and 3, Phi-3, T5, BART, DeBERTa-v2, MPNet"
)
