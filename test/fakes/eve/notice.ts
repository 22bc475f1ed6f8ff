import { html, SlimError } from "./answer.ts";

/** Whether PHP's notices are errors: EVE-NG's framework makes an error page of each that PHP reports. */
export interface NoticeSettings {
  readonly php: 7 | 8;
  readonly notices: "visible" | "hidden";
}

/** PHP's words for an array that has no such key. */
export function missingKey(php: 7 | 8, key: string | number): string {
  if (php === 8) return `Undefined array key ${typeof key === "number" ? key : `"${key}"`}`;
  return typeof key === "number" ? `Undefined offset: ${key}` : `Undefined index: ${key}`;
}

/** Throws the page of an array that has no such key. Does nothing if notices are hidden. */
export function noticeOfKey(settings: NoticeSettings, key: string | number, file: string, line: number, callers: readonly string[]): void {
  throwNotice(settings, missingKey(settings.php, key), { file, line, callers });
}

/** Throws the page of a variable that nobody has set. Does nothing if notices are hidden. */
export function noticeOfVariable(settings: NoticeSettings, name: string, file: string, line: number, callers: readonly string[]): void {
  throwNotice(settings, settings.php === 8 ? `Undefined variable $${name}` : `Undefined variable: ${name}`, { file, line, callers });
}

export interface NoticePlace {
  readonly file: string;
  readonly line: number;
  readonly callers: readonly string[];
  /** Absent: 8 for a notice of PHP 7, 2 for a warning of PHP 8. */
  readonly phpCode?: number;
}

/** Throws the page of anything that PHP reports. Does nothing if notices are hidden. */
export function throwNotice({ php, notices }: NoticeSettings, message: string, { file, line, callers, phpCode }: NoticePlace): void {
  if (notices === "hidden") return;
  const frames = [`${html}${file}(${line}): Slim\\Slim::handleErrors()`, ...callers];
  throw new SlimError(message, { file, line, frames, phpCode: phpCode ?? (php === 8 ? 2 : 8) });
}
