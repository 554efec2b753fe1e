"""Error and time of lower precisions: the embedded model over its own text, compared with float64, alternating."""

import argparse

import numpy as np
import torch

from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.corpora.reading import read_corpus
from headscope.encoding.batching import length_buckets
from headscope.encoding.choices import DTYPES
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.installing import demo_text
from headscope.models.load_model import load_model
from headscope.statistics.statistic_catalog import NAMES
from rounds import alternate, median_ratio


def compare(*, segments: int, rounds: int) -> None:
    """Print the largest and the mean error of a head's numbers for each precision, and its time relative to float32."""
    loaded = {dtype: load_model(dtype=dtype, device="cpu") for dtype in DTYPES}
    encoder = Encoder(loaded["float32"].tokenizer)
    packed = Packer(encoder).pack(read_corpus(str(demo_text())), max_inputs=segments)
    batches = list(length_buckets(packed, batch_size=16))
    anatomies = {name: examine(each.model, encoder.vocabulary) for name, each in loaded.items()}
    made: dict[str, StatsAccumulator] = {}

    def look(dtype: str) -> None:
        made[dtype] = StatsAccumulator(anatomies[dtype].layout)
        scan(ModelSource(loaded[dtype].model, anatomies[dtype], encoder.vocabulary, batches), [made[dtype]])

    look("float64")
    dtypes = [name for name in DTYPES if name != "float64"]
    times = alternate({name: (lambda own=name: look(own)) for name in dtypes}, rounds=rounds)

    def means(dtype: str) -> dict[str, np.ndarray]:
        (result,) = made[dtype].compute()
        return {name: result.heads.value[..., column] for column, name in enumerate(NAMES)}

    exact = means("float64")
    print(f"{sum(map(len, batches))} segments, {torch.get_num_threads()} threads")
    for dtype in dtypes:
        own = means(dtype)
        apart = {name: np.abs(own[name] - exact[name]) for name in ("entropy", "previous", "sep")}
        print(
            f"{dtype}: {median_ratio(times, dtype, 'float32'):.2f} times float32's time ("
            f"{' '.join(f'{a / b:.2f}' for a, b in zip(times[dtype], times['float32']))}); of a head's mean, largest "
            f"and mean error: "
            + "; ".join(f"{name} {np.nanmax(value):.2g}, {np.nanmean(value):.2g}" for name, value in apart.items()),
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    compare(segments=arguments.segments, rounds=arguments.rounds)
