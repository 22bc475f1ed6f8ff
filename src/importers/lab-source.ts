import type { ImportLine } from "./tree/report.ts";

export interface ReportCounts {
  readonly kept: number;
  readonly mapped: number;
  readonly dropped: number;
}

/** Source of a lab that was imported from a file: the `source` of the API, which is stored with the lab. */
export interface FileSource {
  readonly format: string;
  /** Path of the lab's file in the source. */
  readonly lab: string;
  /** RFC 3339. */
  readonly imported_at: string;
  /** SHA-256 of the lab's file, hex. */
  readonly digest: string;
  readonly counts: ReportCounts;
  readonly report: readonly ImportLine[];
  /** Number of lines that the report lacks, because it is too long. */
  readonly report_left_out: number;
}

/** Limits of a stored report. */
export const storedReport = { lines: 2_000, characters: 256 * 1024 };

export function fileSource(
  { format, path, report }: { readonly format: string; readonly path: string; readonly report: readonly ImportLine[] },
  { digest, importedAt }: { readonly digest: string; readonly importedAt: string },
): FileSource {
  const shown = shortenedReport(report, storedReport);
  return {
    format,
    lab: path,
    imported_at: importedAt,
    digest,
    counts: countsOf(report),
    report: shown,
    report_left_out: report.length - shown.length,
  };
}

export function countsOf(report: readonly Pick<ImportLine, "level">[]): ReportCounts {
  const count = (level: ImportLine["level"]) => report.filter((line) => line.level === level).length;
  return { kept: count("kept"), mapped: count("mapped"), dropped: count("dropped") };
}

/** Leaves lines about kept parts out of a report that is too long, and then lines at its end. */
export function shortenedReport<Line extends Pick<ImportLine, "level">>(
  report: readonly Line[],
  { lines, characters }: { readonly lines: number; readonly characters: number },
): readonly Line[] {
  const shown = new Set<Line>();
  let left = characters;
  for (const isKept of [false, true]) {
    for (const line of report) {
      if ((line.level === "kept") !== isKept) continue;
      left -= JSON.stringify(line).length;
      if (shown.size >= lines || left < 0) return report.filter((each) => shown.has(each));
      shown.add(line);
    }
  }
  return report;
}
