import type { Student } from "./roster.ts";

/** Name of the file of variables that differs for each student. A lab names it in vars-files. */
export const variablesFile = "student.yaml";

/**
 * Returns the variables of a student as a file of vars-files: the columns of the roster, and the number of the student in the roster, unless the roster has a
 * column of that name. Whole numbers and true and false are written as such; everything else is a text.
 */
export function variablesOf({ columns }: Pick<Student, "columns">, number: number): string {
  const all = { number: String(number), ...columns };
  return Object.entries(all)
    .map(([name, value]) => `${name}: ${yamlOf(value)}\n`)
    .join("");
}

function yamlOf(value: string): string {
  return /^(?:0|[1-9]\d{0,14}|true|false)$/.test(value) ? value : JSON.stringify(value);
}
