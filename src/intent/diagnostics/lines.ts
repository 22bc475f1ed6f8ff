/** Finds the line of an offset. Lines are indexed once and only as far as needed; a lookup takes O(log n). */
export class Lines {
  readonly #text: string;
  readonly #starts: number[] = [0];
  /** The offset up to which line breaks are indexed; -1 after the last one. */
  #next = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns line and column of an offset, both from 1. */
  position(offset: number): { readonly line: number; readonly column: number } {
    while (this.#next !== -1 && this.#next <= offset) this.#find();
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#starts[low] as number) + 1 };
  }

  /** Returns the text of a line (from 1) without its line break; "" beyond the end. */
  line(number: number): string {
    while (this.#next !== -1 && this.#starts.length <= number) this.#find();
    const start = this.#starts[number - 1];
    if (start === undefined) return "";
    const end = this.#starts[number] ?? this.#text.length;
    return this.#text.slice(start, end).replace(/\r?\n$/, "");
  }

  #find(): void {
    const at = this.#text.indexOf("\n", this.#next);
    this.#next = at === -1 ? -1 : at + 1;
    if (at !== -1) this.#starts.push(at + 1);
  }
}
