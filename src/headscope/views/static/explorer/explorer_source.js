// A source of attention that requests each layer from the server when it is needed.
import { checkPayload, keysOf } from "../views/embedded_source.js";
import { weightsOfBytes } from "../core/weights.js";
import { neuronOfBytes } from "../views/decode.js";

// `payload`: a look's, as `/api/look` answered `request`.
export function explorerSource(api, request, payload) {
  checkPayload(payload);
  const sizes = (kind) => ({ heads: kind.heads, queries: kind.queries.tokens.length, keys: keysOf(kind).tokens.length });
  const fetched = async (what, kindIndex, layerIndex, more = "") => {
    const kind = payload.kinds[kindIndex];
    const path = `/api/look/${payload.id}/${what}?kind=${kind.kind}&layer=${kind.layers[layerIndex]}${more}`;
    try {
      return await api.request(path);
    } catch (error) {
      // The server keeps the last looks only: the same question brings the same look back, under the same id.
      if (error.status !== 410) throw error;
      await api.look(request);
      return api.request(path);
    }
  };
  const bytesOf = async (answer) => new Uint8Array(await answer.arrayBuffer());
  return {
    payload,
    async layer(kindIndex, layerIndex) {
      const { heads, queries, keys } = sizes(payload.kinds[kindIndex]);
      return weightsOfBytes(await bytesOf(await fetched("layer", kindIndex, layerIndex)), heads, queries, keys);
    },
    // The sources of one score; `head` is a label, `query` and `key` are positions.
    async score({ kind, layer, head, query, key }) {
      return (await fetched("score", kind, layer, `&head=${head}&query=${query}&key=${key}`)).json();
    },
    async neuron(kindIndex, layerIndex) {
      const kind = payload.kinds[kindIndex];
      if (kind.no_neuron) return null;
      const answer = await fetched("neuron", kindIndex, layerIndex);
      const parts = JSON.parse(answer.headers.get("X-Headscope-Neuron"));
      if (!parts) {
        kind.no_neuron = (await answer.json()).no_neuron;
        return null;
      }
      return { ...neuronOfBytes(await bytesOf(answer), { ...sizes(kind), ...parts }), scaling: parts.scaling, softcap: parts.softcap };
    },
  };
}
