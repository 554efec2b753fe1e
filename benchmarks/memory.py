"""Check that memory does not grow with the corpus: 200,000 short documents against 2,000, reader included."""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def write_corpus(path: Path, documents: int) -> None:
    """Write short documents of two lines, all different."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(documents):
            file.write(f"the cat number {number} sat.\nit looked at dog {number * 7}, twice.\n\n")


def measure(path: Path) -> None:
    """Scan a corpus with a tiny random model, and print the peak memory in MiB."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    from headscope.analyses.stats.sums import StatsAccumulator
    from headscope.attention.model.examination import examine
    from headscope.attention.model.model_source import ModelSource
    from headscope.attention.scan import scan
    from headscope.corpora.document import CorpusDigest
    from headscope.corpora.reading import read_corpus
    from headscope.encoding.batching import length_buckets
    from headscope.encoding.encoder import Encoder
    from headscope.encoding.line_packing import Packer
    from headscope.models.locating import embedded_folder
    from headscope.scans.examples.example_tables import SentenceKeeper

    config = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    model = BertModel(config).eval()
    torch.set_num_threads(2)
    encoder = Encoder(AutoTokenizer.from_pretrained(embedded_folder()))
    anatomy = examine(model, encoder.vocabulary)
    sums = StatsAccumulator(anatomy.layout)
    documents = SentenceKeeper().watch(CorpusDigest(read_corpus([path])))
    segments = Packer(encoder).pack(documents)
    batches = length_buckets(segments, batch_size=64)
    began = time.perf_counter()
    scan(ModelSource(model, anatomy, encoder.vocabulary, batches), [sums])
    sums.compute()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.perf_counter() - began)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path)
    options = parser.parse_args()
    if options.corpus:
        measure(options.corpus)
        raise SystemExit
    peaks = {}
    with tempfile.TemporaryDirectory() as folder:
        for documents in (2_000, 200_000):
            path = Path(folder) / f"{documents}.txt"
            write_corpus(path, documents)
            done = subprocess.run(
                [sys.executable, __file__, "--corpus", str(path)], capture_output=True, text=True, check=True
            )
            peak, seconds = map(float, done.stdout.split())
            peaks[documents] = peak
            print(f"{documents:>8,} documents: peak {peak:7.1f} MiB, {seconds:6.1f} s", flush=True)
    print(f"peak of 200,000 over 2,000 documents: {peaks[200_000] / peaks[2_000]:.3f} (target 1.05)")
