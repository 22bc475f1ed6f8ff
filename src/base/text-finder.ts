/** A range of a text, in UTF-16 units. The end is not part of it. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Finds many texts at once (Aho-Corasick): the time is linear in the searched text, for any number of texts. */
export class TextFinder {
  /** State and next character → state. */
  readonly #next = new Map<number, number>();
  /** The state of the longest proper suffix. */
  readonly #suffix: number[] = [0];
  /** The length of the longest text that ends in the state; 0 for none. */
  readonly #found: number[] = [0];
  readonly #firsts = new Uint8Array(1 << 16);

  constructor(texts: readonly string[]) {
    const states: { readonly state: number; readonly parent: number; readonly code: number; readonly depth: number }[] = [];
    for (const text of new Set(texts)) {
      let state = 0;
      for (let i = 0; i < text.length; i++) {
        const [parent, code] = [state, text.charCodeAt(i)];
        state = this.#step(parent, code) ?? this.#found.length;
        if (state < this.#found.length) continue;
        this.#next.set(parent * 0x10000 + code, state);
        this.#found.push(0);
        states.push({ state, parent, code, depth: i });
      }
      this.#found[state] = text.length;
      if (text !== "") this.#firsts[text.charCodeAt(0)] = 1;
    }
    for (const { state, parent, code, depth } of states.sort((a, b) => a.depth - b.depth)) {
      this.#suffix[state] = depth === 0 ? 0 : this.#follow(this.#suffix[parent]!, code);
      this.#found[state] = Math.max(this.#found[state]!, this.#found[this.#suffix[state]]!);
    }
  }

  /** Whether there is no text to find. */
  get empty(): boolean {
    return this.#found.length === 1;
  }

  /** Returns the ranges of the texts in `text`, in order; overlapping ranges are joined. */
  find(text: string): TextRange[] {
    const ranges: { start: number; end: number }[] = [];
    let state = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (state === 0 && this.#firsts[code] === 0) continue;
      state = this.#follow(state, code);
      const length = this.#found[state]!;
      if (length === 0) continue;
      const range = { start: i + 1 - length, end: i + 1 };
      while (ranges.length > 0 && ranges.at(-1)!.end > range.start) range.start = Math.min(range.start, ranges.pop()!.start);
      ranges.push(range);
    }
    return ranges;
  }

  #step(state: number, code: number): number | undefined {
    return this.#next.get(state * 0x10000 + code);
  }

  #follow(from: number, code: number): number {
    for (let state = from; ; state = this.#suffix[state]!) {
      const next = this.#step(state, code);
      if (next !== undefined) return next;
      if (state === 0) return 0;
    }
  }
}
