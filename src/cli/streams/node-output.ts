import { StringDecoder } from "node:string_decoder";
import type { Terminal } from "../show/terminal.ts";

/** Prints the output of programs in several nodes as it comes: whole lines, each after the name of its node. */
export class NodeOutput {
  readonly #terminal: Terminal;
  readonly #width: number;
  /** The unfinished line of each node and stream. */
  readonly #lines = new Map<string, string>();
  readonly #decoders = new Map<string, StringDecoder>();

  constructor(terminal: Terminal, nodes: readonly string[]) {
    this.#terminal = terminal;
    this.#width = Math.max(0, ...nodes.map((node) => node.length));
  }

  add(node: string, stream: "stdout" | "stderr", data: Buffer): void {
    const key = `${stream} ${node}`;
    const decoder = this.#decoders.get(key) ?? new StringDecoder("utf8");
    this.#decoders.set(key, decoder);
    const lines = ((this.#lines.get(key) ?? "") + decoder.write(data)).split("\n");
    this.#lines.set(key, lines.pop() ?? "");
    for (const line of lines) this.#print(node, stream, line);
  }

  /** Prints the unfinished lines of a node that has ended. */
  end(node: string): void {
    for (const stream of ["stdout", "stderr"] as const) {
      const left = this.#lines.get(`${stream} ${node}`) ?? "";
      if (left !== "") this.#print(node, stream, left);
      this.#lines.delete(`${stream} ${node}`);
    }
  }

  complain(node: string, text: string): void {
    this.#terminal.complain(`${this.#prefix(node)} ${this.#terminal.paint("red", "error:")} ${text}`);
  }

  #print(node: string, stream: "stdout" | "stderr", line: string): void {
    const text = `${this.#prefix(node)} ${line}`.trimEnd();
    if (stream === "stdout") this.#terminal.print(text);
    else this.#terminal.complain(text);
  }

  #prefix(node: string): string {
    return this.#terminal.paint("dim", `${node.padEnd(this.#width)} |`);
  }
}
