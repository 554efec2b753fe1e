// The part of the explorer's address after `#`: the request, then the state of the view. It never contains the token.
const PARTS = [["model", "model"], ["text", "text"], ["text_b", "text-b"], ["decoder_text", "decoder-text"], ["generate", "generate"], ["part", "part"], ["atlas", "atlas"]];

// `asked`: {model, text, text_b, decoder_text, generate, part}; what is empty goes unsaid.
export function writeAsked(asked) {
  const said = PARTS.filter(([name]) => asked[name]);
  return said.map(([name, key]) => `${key}=${encodeURIComponent(String(asked[name]).toWellFormed())}`).join("&");
}

// What an address asks for; empty where it says nothing.
export function readAsked(hash) {
  const found = {};
  for (const each of hash.replace(/^#/, "").split("&")) {
    const at = each.indexOf("=");
    const part = PARTS.find(([, key]) => at > 0 && key === each.slice(0, at));
    if (part) found[part[0]] = unescaped(each.slice(at + 1));
  }
  if (found.generate !== undefined) found.generate = /^\d{1,3}$/.test(found.generate) ? Number(found.generate) : 0;
  return found;
}

// The rest of an address: the state of the views.
export function stateOfHash(hash) {
  const own = (each) => PARTS.some(([, key]) => each.startsWith(`${key}=`));
  return hash.replace(/^#/, "").split("&").filter((each) => each && !own(each)).join("&");
}

// The request in the server's form; null without a text.
export function requestOf({ model, text, text_b, decoder_text, generate }) {
  if (!text || !text.trim()) return null;
  return { model, text, ...(text_b && text_b.trim() ? { text_b } : {}), ...(decoder_text && decoder_text.trim() ? { decoder_text } : {}), ...(generate ? { generate } : {}) };
}

function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
