// Tokens as running text: pieces of a word are joined, so that copied text has whole words.
import { el } from "../core/dom.js";
import { isolatedToken, rightToLeft } from "../core/token_text.js";

// WordPiece's mark of a piece that goes on; more of the sign is text.
const GOES_ON = /^##(?=[^#])/;

// A token by itself: [as it is drawn, in full where that differs].
export const drawnToken = ([short, whole]) => el("span", whole ? { title: whole } : {}, isolatedToken(short));

// A row's tokens, from the page's words and its numbers of them: {tokens, joins: whether each goes on with the one before}.
export function rowOf(words, numbers) {
  return { tokens: numbers.map((number) => words[number < 0 ? ~number : number]), joins: numbers.map((number) => number < 0) };
}

// The places of tokens, word by word.
export function wordsOf(tokens, joins = []) {
  const words = [];
  tokens.forEach(([short], place) => {
    if (words.length && (joins[place] || GOES_ON.test(short))) words.at(-1).push(place);
    else words.push([place]);
  });
  return words;
}

// The tokens of a row, `at` marked, spaces between words alone.
export function writtenRow({ tokens, joins, at }) {
  return wordsOf(tokens, joins).flatMap((places, word) => {
    // Pieces isolated one by one would appear in the wrong order in right-to-left scripts.
    const turned = places.length > 1 && places.some((place) => rightToLeft(tokens[place][0]));
    const pieces = places.map((place, piece) => {
      const [short, whole] = tokens[place];
      const text = piece ? short.replace(GOES_ON, "") : short;
      const span = el("span", whole ? { title: whole } : {}, places.length > 1 ? text : isolatedToken(text));
      return place === at ? el("mark", {}, span) : span;
    });
    return [word ? " " : "", turned ? el("bdi", {}, pieces) : pieces];
  });
}
