// Tokens as text: invisible characters are named, long text is cut, right-to-left text is isolated.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const NAMED = { "\n": "⏎", "\r": "␍", "\t": "⇥" };
const MOST_MARKS = 4;
// Joiners inside a token hold emoji and several scripts together.
const JOINERS = "\u200c\u200d";
const ISOLATE = "\u2068";
const POP = "\u2069";

// A token with every control, format, surrogate, private or unassigned character written as ⟨U+200B⟩.
export function visibleToken(token) {
  const characters = [...token];
  let marks = 0;
  const shown = characters.map((character, place) => {
    marks = /[\p{Mn}\p{Me}]/u.test(character) ? marks + 1 : 0;
    if (marks > MOST_MARKS) return "";
    if (JOINERS.includes(character) && place > 0 && place < characters.length - 1) return character;
    if (NAMED[character]) return NAMED[character];
    if (!UNSEEN.test(character)) return character;
    return `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
  const text = shown.join("");
  if (!text) return "⟨empty⟩";
  return /^\s+$/u.test(text) ? "␣".repeat([...text].length) : text;
}

// The first `most` letters as a reader counts them, so that no emoji is cut in two.
export function cutToken(text, most) {
  if (text.length <= most) return text;
  const letters = [];
  for (const { segment } of new Intl.Segmenter().segment(text.slice(0, 16 * most))) {
    letters.push(segment);
    if (letters.length > most) break;
  }
  if (letters.length <= most && letters.join("").length === text.length) return text;
  return `${letters.slice(0, most - 1).join("")}…`;
}

export function rightToLeft(text) {
  return RIGHT_TO_LEFT.test(text);
}

// A token inside a sentence: its direction must not turn the words around it.
export function isolatedToken(text) {
  return rightToLeft(text) ? `${ISOLATE}${text}${POP}` : text;
}

// As much of a text as fits a width, by a function that measures; an ellipsis where it was cut.
export function fitted(text, width, measure) {
  if (measure(text) <= width) return text;
  const letters = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  let [low, high] = [0, letters.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(`${letters.slice(0, middle).join("")}…`) <= width) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("")}…`;
}
