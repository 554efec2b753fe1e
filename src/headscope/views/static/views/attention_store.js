// Layers on request: decoded, at token or word level; the last few are cached.
import { wordWeights } from "./word_level.js";
import { unitsOf } from "./axis.js";
import { isSquare, keysOf } from "./embedded_source.js";
import { headStatistics } from "./head_stats.js";
import { unpackPart, writtenOfBytes } from "./decode.js";

// Decoded weights kept at most, and one layer in any case.
const MOST_BYTES = 96 * 2 ** 20;

export class AttentionStore {
  constructor(source) {
    this.source = source;
    this.payload = source.payload;
    this.kept = new Map();
    this.units = new Map();
    this.statistics = new Map();
    this.lengths = [];
  }

  kindIndex(name) {
    return this.payload.kinds.findIndex((kind) => kind.kind === name);
  }

  // {query, key}: the units of both sides.
  unitsAt(kindIndex, level) {
    const name = `${kindIndex} ${level}`;
    if (!this.units.has(name)) {
      const kind = this.payload.kinds[kindIndex];
      const query = unitsOf(kind.queries, level);
      this.units.set(name, { query, key: kind.keys ? unitsOf(kind.keys, level) : query });
    }
    return this.units.get(name);
  }

  // A promise of {heads, queries, keys, values}; the same promise while it is kept.
  weights(kindIndex, layerIndex, level) {
    const name = `${kindIndex} ${layerIndex} ${level}`;
    const known = this.kept.get(name);
    this.kept.delete(name);
    const promise = known || this.decode(kindIndex, layerIndex, level);
    this.kept.set(name, promise);
    if (!known) promise.catch(() => this.kept.delete(name));
    this.forget();
    return promise;
  }

  async decode(kindIndex, layerIndex, level) {
    const tokens = level === "token" ? await this.source.layer(kindIndex, layerIndex) : await this.weights(kindIndex, layerIndex, "token");
    if (level === "token") return tokens;
    const { query, key } = this.unitsAt(kindIndex, level);
    return wordWeights(tokens, query.unitOf, key.unitOf);
  }

  forget() {
    const kind = (name) => this.payload.kinds[Number(name.split(" ")[0])];
    const size = (name) => 4 * kind(name).heads * kind(name).queries.tokens.length * keysOf(kind(name)).tokens.length;
    let bytes = [...this.kept.keys()].reduce((sum, name) => sum + size(name), 0);
    for (const name of this.kept.keys()) {
      if (bytes <= MOST_BYTES || this.kept.size <= 2) return;
      bytes -= size(name);
      this.kept.delete(name);
    }
  }

  // One layer's statistics, a head after another; over all units, whatever is hidden.
  async layerStatistics(kindIndex, layerIndex, level) {
    const name = `${kindIndex} ${layerIndex} ${level}`;
    if (!this.statistics.has(name)) {
      const weights = await this.weights(kindIndex, layerIndex, level);
      const square = isSquare(this.payload.kinds[kindIndex]);
      this.statistics.set(name, Array.from({ length: weights.heads }, (_, head) => headStatistics(weights, head, square)));
    }
    return this.statistics.get(name);
  }

  // A promise of the output norms of each layer's heads; of null if they are not known.
  written(kindIndex) {
    const kind = this.payload.kinds[kindIndex];
    this.lengths[kindIndex] ||= kind.written
      ? unpackPart(kind.written).then((bytes) => writtenOfBytes(bytes, { layers: kind.layers.length, heads: kind.heads, tokens: kind.queries.tokens.length }))
      : Promise.resolve(null);
    return this.lengths[kindIndex];
  }

  neuron(kindIndex, layerIndex) {
    const name = `${kindIndex} ${layerIndex}`;
    if (!this.neurons || this.neurons.name !== name) {
      const kept = (this.neurons = { name, promise: this.source.neuron(kindIndex, layerIndex) });
      kept.promise.catch(() => this.neurons === kept && (this.neurons = null));
    }
    return this.neurons.promise;
  }
}
