// Text of authors without characters that reverse or hide the text after it, as judge/view/formatting.py `plain`.

const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text without control characters and marks of direction. */
export function plain(text) {
  return text.replaceAll(DIRECTION, "").replaceAll(/(?![\t\n])[\p{Cc}\p{Cs}]/gu, "");
}
