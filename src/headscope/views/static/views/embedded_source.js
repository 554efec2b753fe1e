// A source of attention whose layers are embedded in the page.
import { weightsOfBytes } from "../core/weights.js";
import { neuronOfBytes, unpackPart } from "./decode.js";

export const SCHEMA = "headscope.attention";
export const SCHEMA_VERSION = 1;

export function checkPayload(payload) {
  if (payload.schema === SCHEMA && payload.version === SCHEMA_VERSION) return payload;
  throw new Error(`Expected data of ${SCHEMA} version ${SCHEMA_VERSION}, got ${payload.schema} version ${payload.version}; write the page again with this version.`);
}

export function keysOf(kind) {
  return kind.keys || kind.queries;
}

// True if a kind's tokens attend to one another; a learned sink, an additional last key, is not a token.
export function isSquare(kind) {
  return !kind.keys || hasSink(kind);
}

export function hasSink(kind) {
  return Number.isInteger(kind.keys?.sink);
}

// The heads' labels, from 1 unless the payload names them.
export function headLabels(kind) {
  return kind.head_labels || Array.from({ length: kind.heads }, (_, place) => place + 1);
}

export function embeddedSource(payload) {
  checkPayload(payload);
  const sizes = (kind) => ({ heads: kind.heads, queries: kind.queries.tokens.length, keys: keysOf(kind).tokens.length });
  return {
    payload,
    async layer(kindIndex, layerIndex) {
      const kind = payload.kinds[kindIndex];
      const { heads, queries, keys } = sizes(kind);
      return weightsOfBytes(await unpackPart(kind.maps[layerIndex]), heads, queries, keys);
    },
    async neuron(kindIndex, layerIndex) {
      const kind = payload.kinds[kindIndex];
      if (!kind.neuron) return null;
      const part = kind.neuron.layers[layerIndex];
      const shape = { ...sizes(kind), width: kind.neuron.width, groups: part.groups, parts: part.parts };
      return { ...neuronOfBytes(await unpackPart(part), shape), scaling: part.scaling, softcap: part.softcap };
    },
  };
}
