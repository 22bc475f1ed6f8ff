/** Where each line of a text begins; found once and only as far as it is asked, then told in O(log n). */
export class Lines {
  readonly #text: string;
  readonly #starts: number[] = [0];
  /** From here on line breaks were not looked for yet; -1: there are no more. */
  #next = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Line and column of an offset, both from 1. */
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

  /** The text of a line (from 1) without its line break; "" beyond the end. */
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
