#!/bin/sh
# Trains the decoder, and goes on after a stop: RUN is a folder outside the repository, DATA holds the three corpora.
#   packages/headscope-decoder/recipe/train.sh DATA RUN
set -eu
here=$(dirname "$0")
mkdir -p "$2"
[ -f "$2/corpus.txt" ] || python "$here/corpus.py" "$1" "$2/corpus.txt"
exec python -m headscope train --objective clm --text "$2/corpus.txt" --size 4x8x256 --groups 4 --vocabulary 4096 \
  --max-length 256 --batch-size 8 --repeated 0.6 --guided 0.2 --learning-rate 1.5e-3 --warm-up 0.03 \
  --steps 5000 --every 250 --dtype bfloat16 --seed 0 --out "$2/run"
