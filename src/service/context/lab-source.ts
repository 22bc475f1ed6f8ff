import type { LabSourceData, LabSourceLine } from "../../contract/schemas/observe.ts";
import { maskText } from "../../engine/show/secret-words.ts";
import { countsOf, shortenedReport, storedReport } from "../../importers/lab-source.ts";
import { mayReadSecrets } from "./allow.ts";
import type { Target } from "./target.ts";

/** A source with its report, as it is stored. */
type StoredSource = LabSourceData & Required<Pick<LabSourceData, "report" | "report_left_out">>;

/** Checked sources of records: status is polled. */
const checked = new WeakMap<object, StoredSource>();

/** Maximum length of a text in a stored source. */
const maxText = 1_024;

/**
 * Returns the part of a caller's `source` that is stored with the lab, or undefined if it has no format or no report: callers may send any value. A report that
 * is too long is shortened.
 */
export function sentSource(sent: unknown): StoredSource | undefined {
  if (typeof sent !== "object" || sent === null || Array.isArray(sent)) return undefined;
  const { format, lab, host, imported_at, digest, counts, report, report_left_out: before } = sent as Readonly<Record<string, unknown>>;
  if (typeof format !== "string" || !Array.isArray(report)) return undefined;
  const lines = report.flatMap(lineOf);
  const shown = shortenedReport(lines, storedReport);
  const texts = Object.entries({ lab, imported_at, digest }).filter(([, text]) => typeof text === "string");
  const { kind, url } = (host ?? {}) as { readonly kind?: unknown; readonly url?: unknown };
  return {
    format: format.slice(0, maxText),
    ...Object.fromEntries(texts.map(([name, text]) => [name, (text as string).slice(0, maxText)])),
    ...(typeof kind === "string" &&
      typeof url === "string" && { host: { kind: kind.slice(0, maxText), url: withoutUser(url.slice(0, maxText)) } }),
    counts: isCounts(counts) ? { kept: counts.kept, mapped: counts.mapped, dropped: counts.dropped } : countsOf(lines),
    report: shown,
    report_left_out: (isCount(before) ? before : 0) + lines.length - shown.length,
  };
}

export function withSource(source: unknown): { readonly source?: unknown } {
  return source === undefined ? {} : { source };
}

/** Returns the URL without user and password. */
function withoutUser(url: string): string {
  return url.replace(/^(\w+:\/\/)[^/?#]*@/, "$1");
}

function lineOf(line: unknown): readonly LabSourceLine[] {
  if (typeof line !== "object" || line === null) return [];
  const { file, path, line: at, level, message } = line as Readonly<Record<string, unknown>>;
  if (typeof path !== "string" || typeof message !== "string") return [];
  if (level !== "kept" && level !== "mapped" && level !== "dropped") return [];
  return [
    {
      ...(typeof file === "string" && { file: file.slice(0, maxText) }),
      path: path.slice(0, maxText),
      ...(isCount(at) && { line: at }),
      level,
      message: message.slice(0, maxText),
    },
  ];
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isCounts(value: unknown): value is LabSourceData["counts"] {
  const { kept, mapped, dropped } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return isCount(kept) && isCount(mapped) && isCount(dropped);
}

/**
 * Returns the source of an imported lab for an answer. Callers who may not read the lab's secrets get neither the files of the source nor secrets in paths and messages.
 * @param whole whether the answer has the report
 */
export function sourceOf(target: Pick<Target, "record" | "caller">, whole: boolean): { readonly source?: LabSourceData } {
  const value = target.record?.source;
  if (typeof value !== "object" || value === null) return {};
  const stored = checked.get(value) ?? sentSource(value);
  if (stored === undefined) return {};
  checked.set(value, stored);
  const { lab, report, report_left_out, ...rest } = stored;
  const isOpen = mayReadSecrets(target);
  const lines = isOpen
    ? report
    : report.map(({ file: _place, ...line }) => ({ ...line, path: maskText(line.path), message: maskText(line.message) }));
  return { source: { ...rest, ...(isOpen && lab !== undefined && { lab }), ...(whole && { report: lines, report_left_out }) } };
}
