import fc from "fast-check";
import { expect, it } from "vitest";
import { readIntent } from "../../intent/read/read.ts";
import { labSegment, maxStudents, readRoster } from "./roster.ts";
import { variablesOf } from "./student-variables.ts";

const students = (text: string) => {
  const roster = readRoster(text);
  return "problems" in roster ? roster.problems : roster.students.map(({ columns }) => columns);
};

it("reads what spreadsheets write: a byte order mark, CRLF, semicolons, quotes, empty lines and spaces", () => {
  const expected = [
    { user: "ann", site: "Berlin, Mitte", asn: "65001" },
    { user: "bob", site: 'the "old" one', asn: "" },
  ];
  expect(students('user,site,asn\nann,"Berlin, Mitte",65001\nbob,"the ""old"" one",\n')).toEqual(expected);
  expect(students('\ufeffuser;site;asn\r\n\r\n ann ;"Berlin, Mitte";65001\r\nbob;"the ""old"" one";\r\n;;\r\n')).toEqual(expected);
  expect(students('user\tsite\tasn\nann\tBerlin, Mitte\t65001\nbob\t"the ""old"" one"\t')).toEqual(expected);
  expect(students("user\nann")).toEqual([{ user: "ann" }]);
});

it("each mistake has its line, and nothing of the file is used", () => {
  expect(students("")).toEqual([expect.stringContaining("the file is empty")]);
  expect(students("user,site\n")).toEqual([expect.stringContaining("no student")]);
  expect(students("name\nann")).toEqual(['line 1: there is no column "user", which has the account of each student']);
  expect(students("user,user\nann,b")).toEqual(["line 1: two columns are named user"]);
  expect(students("user,a b\nann,b")).toEqual([expect.stringContaining('"a b" cannot be the name of a column')]);
  expect(students('user\n"ann')).toEqual(["line 2: a quote is not closed"]);
  expect(students('user\n"ann"x')).toEqual(["line 2: there is text after a closing quote"]);
  expect(students('user,note\nann,"two\nlines"\nbob\nbob,1,2\n,x\n../eve,1\nAnn,1\nann@x,1\nann_at_x,2')).toEqual([
    "line 2: note has a line break or another control character",
    "line 4: it has 1 values, and the header has 2 columns",
    "line 5: it has 3 values, and the header has 2 columns",
    'line 6: "" is not a user name',
    'line 7: "../eve" is not a user name',
    "line 10: ann_at_x has the same lab as line 9",
  ]);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable
  expect(students("user,a\nann,${b}")).toEqual([expect.stringContaining("line 2: a has a")]);
  expect(students("user\nann\nbob\nANN")).toEqual(["line 4: ANN has the same lab as line 2"]);
});

it("a file with too many students, or with many mistakes, has a short answer", () => {
  const many = (count: number, row: (index: number) => string) =>
    `user\n${Array.from({ length: count }, (_, index) => row(index)).join("\n")}`;
  expect(students(many(10_000, (index) => `u${index}`))).toEqual([`the file has 10000 students; a class has at most ${maxStudents}`]);
  expect(students(many(900, () => "-"))).toHaveLength(11);
  expect(students(many(maxStudents, (index) => `u${index}`))).toHaveLength(maxStudents);
});

it("no text makes the reader fail", () => {
  const piece = fc.constantFrom('"', ",", ";", "\n", "\r\n", "\r", "user", "ann", "=1+1", "\ufeff", "\0", " ");
  fc.assert(fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => void readRoster(pieces.join(""))));
});

it("the columns are variables of the lab: formulas, quotes and references stay texts, numbers are numbers", () => {
  const roster = readRoster('user,asn,note,ok\nann,65001,"=HYPERLINK(""x""): #$(user)\\",true');
  if ("problems" in roster) throw new Error(roster.problems.join());
  const file = variablesOf(roster.students[0]!, 7);
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: references to variables
  const yaml =
    'name: x\nvars-files: [student.yaml]\ndescription: "${note}|${number}|${ok}"\nnodes: {r1: {template: frr, ram: "${asn}", start: "${ok}", labels: {who: "${user}"}}}\n';
  const { lab, diagnostics } = readIntent(yaml, { "student.yaml": file });
  expect(diagnostics).toEqual([]);
  expect(lab).toMatchObject({
    description: '=HYPERLINK("x"): #$(user)\\|7|true',
    nodes: [{ ram: 65001, start: true, labels: { who: "ann" } }],
  });
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: references to variables
});

it("a user name with @ has a path without it", () => {
  expect(labSegment("ann@example.org")).toBe("ann_at_example.org");
});
