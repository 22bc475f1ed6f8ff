/**
 * Splits a command into words. A JSON list of strings is used unchanged (the exec form of a Dockerfile). Other text is split as by a shell: at
 * blanks, except in '…' and "…" and after \. Nothing is expanded. @throws Error for an open quote, or for a list that does not contain only strings
 */
export function words(text: string): readonly string[] {
  if (text.trimStart().startsWith("[")) {
    const list: unknown = jsonOf(text);
    if (!Array.isArray(list) || !list.every((one) => typeof one === "string")) throw new Error("is not a list of texts");
    return list;
  }
  const found: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (quote !== "") {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && /["\\$`]/.test(text[i + 1] ?? "")) word = (word ?? "") + text[++i];
      else word = (word ?? "") + char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (char === "\\" && i + 1 < text.length) word = (word ?? "") + text[++i];
    else if (/\s/.test(char)) {
      if (word !== undefined) found.push(word);
      word = undefined;
    } else word = (word ?? "") + char;
  }
  if (quote !== "") throw new Error(`has an open ${quote}`);
  if (word !== undefined) found.push(word);
  return found;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`begins as a list and is none: ${(error as Error).message}`, { cause: error });
  }
}
