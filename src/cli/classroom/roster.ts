/** A person of a roster. */
export interface Student {
  /** The account, to which the lab is shared. */
  readonly user: string;
  /** Line of the file, from 1. */
  readonly line: number;
  /** The columns of the row, user included, as they are written. */
  readonly columns: Readonly<Record<string, string>>;
}

/** A roster, or the problems that make it unusable, each with its line. */
export type Roster = { readonly students: readonly Student[] } | { readonly problems: readonly string[] };

/** Each student gets a lab: more are a mistake, such as a file of the whole school. */
export const maxStudents = 1_000;

const maxProblems = 10;
const userPattern = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
const columnPattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a value must not contain these
const control = /[\u0000-\u001f\u007f]/;

/**
 * Reads a roster: CSV with a header line and a column `user`. The separator is a comma, a semicolon or a tab, as in the header. Spreadsheets write a byte order
 * mark, CRLF, quotes and empty lines, which are read. All values are texts: nothing is calculated.
 */
export function readRoster(text: string): Roster {
  const rows = readCsv(text);
  if ("problem" in rows) return { problems: [rows.problem] };
  const [header, ...body] = rows.rows.filter(({ cells }) => cells.some((cell) => cell.trim() !== ""));
  if (header === undefined) return { problems: ["the file is empty: its first line needs the names of the columns, such as user,site"] };
  const names = header.cells.map((cell) => cell.trim());
  const problems = headerProblems(names, header.line);
  if (problems.length > 0) return { problems };
  if (body.length === 0) return { problems: ["the file has no student: write one line for each below the header"] };
  if (body.length > maxStudents) return { problems: [`the file has ${body.length} students; a class has at most ${maxStudents}`] };
  const students: Student[] = [];
  const lines = new Map<string, number>();
  for (const { cells, line } of body) {
    const problem = rowProblem(cells, names);
    if (problem !== undefined) {
      problems.push(`line ${line}: ${problem}`);
      continue;
    }
    const columns = Object.fromEntries(names.map((name, index) => [name, (cells[index] ?? "").trim()]));
    const user = columns["user"] ?? "";
    const key = labSegment(user).toLowerCase();
    const before = lines.get(key);
    if (!userPattern.test(user)) problems.push(`line ${line}: ${JSON.stringify(user)} is not a user name`);
    else if (before !== undefined) problems.push(`line ${line}: ${user} has the same lab as line ${before}`);
    else students.push({ user, line, columns });
    if (before === undefined) lines.set(key, line);
  }
  return problems.length === 0 ? { students } : { problems: shortened(problems) };
}

/** Returns the last part of the path of a student's lab. Paths of labs have no @. */
export function labSegment(user: string): string {
  return user.replaceAll("@", "_at_");
}

function headerProblems(names: readonly string[], line: number): string[] {
  const bad = names.filter((name) => !columnPattern.test(name));
  if (bad.length > 0) return [`line ${line}: ${JSON.stringify(bad[0])} cannot be the name of a column: write letters, digits, _ and -`];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return [`line ${line}: two columns are named ${twice}`];
  return names.includes("user") ? [] : [`line ${line}: there is no column "user", which has the account of each student`];
}

function rowProblem(cells: readonly string[], names: readonly string[]): string | undefined {
  const extra = cells.slice(names.length).filter((cell) => cell.trim() !== "");
  if (extra.length > 0) return `it has ${cells.length} values, and the header has ${names.length} columns`;
  if (cells.length < names.length) return `it has ${cells.length} values, and the header has ${names.length} columns`;
  const index = cells.findIndex((cell) => control.test(cell));
  if (index >= 0) return `${names[index]} has a line break or another control character`;
  // A variable of a lab cannot contain another one.
  const reference = cells.findIndex((cell) => cell.includes("$\u007b"));
  return reference < 0 ? undefined : `${names[reference]} has a "$" before a "{", which is not a text in a lab`;
}

function shortened(problems: readonly string[]): readonly string[] {
  const more = problems.length - maxProblems;
  return more <= 0 ? problems : [...problems.slice(0, maxProblems), `and ${more} more`];
}

interface CsvRow {
  readonly cells: readonly string[];
  readonly line: number;
}

/** Splits CSV of RFC 4180 into cells. */
function readCsv(whole: string): { readonly rows: readonly CsvRow[] } | { readonly problem: string } {
  const text = whole.replace(/^\ufeff/, "");
  const header = text.slice(0, text.search(/\r|\n|$/));
  const separator = [",", ";", "\t"].toSorted((a, b) => header.split(b).length - header.split(a).length)[0] ?? ",";
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let [line, begun, at] = [1, 1, 0];
  while (at < text.length) {
    let cell = "";
    if (text[at] === '"') {
      const end = closing(text, at);
      if (end < 0) return { problem: `line ${line}: a quote is not closed` };
      cell = text.slice(at + 1, end).replaceAll('""', '"');
      line += cell.split("\n").length - 1;
      at = end + 1;
      if (at < text.length && text[at] !== separator && text[at] !== "\n" && text[at] !== "\r") {
        return { problem: `line ${line}: there is text after a closing quote` };
      }
    } else {
      const end = nextEnd(text, at, separator);
      cell = text.slice(at, end);
      at = end;
    }
    cells.push(cell);
    if (text[at] === separator) {
      at += 1;
      // A separator at the end of the text begins an empty cell.
      if (at < text.length) continue;
      cells.push("");
    }
    rows.push({ cells, line: begun });
    cells = [];
    if (text[at] === "\r" && text[at + 1] === "\n") at += 1;
    at += 1;
    line += 1;
    begun = line;
  }
  return { rows };
}

/** Returns the index of the quote that closes the one at an index; -1: there is none. */
function closing(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at >= 0; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at;
  return -1;
}

function nextEnd(text: string, from: number, separator: string): number {
  let at = from;
  while (at < text.length && text[at] !== separator && text[at] !== "\n" && text[at] !== "\r") at += 1;
  return at;
}
