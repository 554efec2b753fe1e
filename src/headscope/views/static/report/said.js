// What the sentence on a head says, and whether a word that a reader types is among it.

const LEAST_SHARE = 10;

// One word, its plural as its singular.
export function singular(word) {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(?:ss|x|ch|sh)es$/.test(word)) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss") && !word.endsWith("us")) return word.slice(0, -1);
  return word;
}

export const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}:'’#]+(?:-[\p{L}]+)*/gu) || [];
export const phraseOf = (words) => words.map(singular).join(" ");

// The groups that a sentence names with their percent: "Attends to [CLS] (61%) and avoids digits (12%); 95% predicted"
// has ["Attends to [CLS]", 61] and ["avoids digits", 12].
export function groupsSaid(sentence) {
  return [...sentence.matchAll(/(.*?) \((-?\d+(?:\.\d+)?)%\)/g)].map(([, text, share]) => [text.replace(/^(?:, | and )/, ""), Number(share)]);
}

// What sentences say of a head, as phrases; groups of a few percent are left out, as they tell no head from another.
export function phrasesSaid(sentences) {
  return sentences.flatMap(groupsSaid).filter(([, share]) => share >= LEAST_SHARE).map(([text]) => phraseOf(wordsOf(text)));
}

// Whether a phrase, of singular words, is among others, whole words alone.
export const isSaid = (phrases, phrase) => phrases.some((said) => ` ${said} `.includes(` ${phrase} `));
