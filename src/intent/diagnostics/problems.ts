import type { DiagnosticCode } from "./codes.ts";
import { byPlace, type Diagnostic } from "./diagnostic.ts";
import { Lines } from "./lines.ts";
import type { Effort } from "./nearest.ts";

/** A range of the text in offsets; the end is exclusive. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

/** Highest number of problems that are kept. Further ones are only counted, so that a broken 10 MB file has a bounded result. */
const MAX_PROBLEMS = 1000;

/** Maximum characters of a message, path or hint: they repeat keys and values, which may be megabytes. */
const MAX_WORDS = 2000;

/** Collects every problem of one text, so that all are reported at once. */
export class Problems {
  readonly #text: string;
  readonly #lines: Lines;
  readonly #list: Diagnostic[] = [];
  #dropped = 0;
  /** Effort for the hints of all problems together. */
  readonly effort: Effort = { left: 10_000_000 };
  #errors = 0;
  /** The nodes of a range have the same problem, which is reported once. */
  readonly #known = new Set<string>();
  readonly #once = new Set<string>();

  constructor(text: string) {
    this.#text = text;
    this.#lines = new Lines(text);
  }

  get hasErrors(): boolean {
    return this.#errors > 0;
  }

  error(code: DiagnosticCode, at: Place, path: string, message: string, hint?: string): void {
    this.#errors++;
    if (this.#isKnown(code, at, path, message)) return;
    this.#add("error", code, at, path, message, hint);
  }

  /** Reports an error of the whole text at its first place only. */
  errorOnce(code: DiagnosticCode, at: Place, path: string, message: string, hint?: string): void {
    if (this.#once.has(message)) return;
    this.#once.add(message);
    this.error(code, at, path, message, hint);
  }

  warn(code: DiagnosticCode, at: Place, path: string, message: string, hint?: string): void {
    if (this.#isKnown(code, at, path, message)) return;
    this.#add("warning", code, at, path, message, hint);
  }

  #isKnown(code: DiagnosticCode, at: Place, path: string, message: string): boolean {
    const same = `${at.start} ${code} ${path.length > MAX_WORDS ? "" : path} ${clipped(message)}`;
    if (this.#known.has(same)) return true;
    if (this.#known.size < MAX_PROBLEMS) this.#known.add(same);
    return false;
  }

  /** Returns the line of an offset, from 1, for messages such as "first used in line 7". */
  line(offset: number): number {
    return this.#lines.position(offset).line;
  }

  /** Adds a problem of one of `files`. */
  fileError(code: DiagnosticCode, file: string, message: string): void {
    this.#errors++;
    this.#push({ severity: "error", code, message, path: "", file, line: 1, column: 1, end_line: 1, end_column: 1 });
  }

  /** Adds the problems of one of `files`, with their places in it. */
  addOfFile(file: string, problems: Problems): void {
    for (const diagnostic of problems.list()) {
      if (diagnostic.severity === "error") this.#errors++;
      this.#push({ ...diagnostic, file });
    }
  }

  /** Returns the problems in the order of the text. */
  list(): readonly Diagnostic[] {
    const sorted = [...this.#list].sort(byPlace);
    if (this.#dropped === 0) return sorted;
    const last = this.#lines.position(this.#text.length);
    const place = { line: last.line, column: last.column, end_line: last.line, end_column: last.column };
    return [
      ...sorted,
      {
        severity: "error",
        code: "too_many_problems",
        message: `${this.#dropped} more problems are not listed`,
        path: "",
        ...place,
      },
    ];
  }

  #add(severity: "error" | "warning", code: DiagnosticCode, at: Place, path: string, message: string, hint: string | undefined): void {
    if (this.#list.length >= MAX_PROBLEMS) {
      this.#dropped++;
      return;
    }
    const from = this.#lines.position(at.start);
    // A range of several lines is shown by its first line.
    const firstLine = this.#text.slice(at.start, at.end).split(/\r?\n/, 1)[0] ?? "";
    const to = this.#lines.position(at.start + firstLine.trimEnd().length);
    this.#push({
      severity,
      code,
      message,
      path,
      ...from,
      end_line: to.line,
      end_column: to.column,
      ...(hint === undefined ? {} : { hint }),
    });
  }

  #push(diagnostic: Diagnostic): void {
    if (this.#list.length >= MAX_PROBLEMS) {
      this.#dropped++;
      return;
    }
    const { message, path, hint } = diagnostic;
    const long = Math.max(message.length, path.length, hint?.length ?? 0) > MAX_WORDS;
    this.#list.push(
      long ? { ...diagnostic, message: clipped(message), path: clipped(path), ...(hint && { hint: clipped(hint) }) } : diagnostic,
    );
  }
}

function clipped(text: string): string {
  return text.length > MAX_WORDS ? `${text.slice(0, MAX_WORDS)}…` : text;
}

/** Appends one step to a JSON pointer. */
export function pointer(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
