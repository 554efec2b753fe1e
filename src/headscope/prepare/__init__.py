"""What a run is asked, and what is ready to be measured: options, a model or saved maps, corpora, their signature."""
