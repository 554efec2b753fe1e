"""Families of models that are known to work, for messages; nothing is decided by them."""

WORKING_FAMILIES = (
    "BERT, DistilBERT, RoBERTa, XLM-R, CamemBERT, ELECTRA, ALBERT, ModernBERT, GPT-2, GPT-NeoX, OPT, Llama, Mistral, "
    "Qwen3, Gemma 2 and 3, Phi-3, T5, BART, DeBERTa-v2, MPNet"
)
