/** A text with its variables replaced. */
export interface Expanded {
  readonly text: string;
  /** The variables of each line, for the report. */
  readonly notes: ReadonlyMap<number, string>;
}

const variable = /\$(?:\{([A-Za-z_]\w{0,127})(?:(:?[-=])([^}\n]{0,1024}))?\}|([A-Za-z_]\w{0,127}))/g;

/**
 * Replaces `${VAR}`, `$VAR`, `${VAR:=default}` and `${VAR:-default}`, as containerlab does before it reads a file. A variable without value and default stays as it is, because a
 * `$` may belong to a command.
 */
export function expandVariables(text: string, values: Readonly<Record<string, string>>): Expanded {
  const notes = new Map<number, string>();
  if (!text.includes("$")) return { text, notes };
  const lines = text.split("\n").map((line, index) => {
    if (!line.includes("$") || /^\s*#/.test(line)) return line;
    const used: string[] = [];
    const whole = line.replace(variable, (found: string, braced?: string, operator?: string, fallback?: string, plain?: string) => {
      const name = braced ?? plain ?? "";
      const given = Object.hasOwn(values, name) ? values[name] : undefined;
      const isUnset = given === undefined || (operator?.startsWith(":") === true && given === "");
      const value = isUnset ? fallback : given;
      if (value === undefined) return found;
      // Not the value: viewers of the lab see the report, and the value may be a password.
      used.push(`the variable ${name} has ${isUnset ? "its default" : "the given value"}`);
      return value.replaceAll("\n", " ");
    });
    if (used.length > 0) notes.set(index + 1, used.join("; "));
    return whole;
  });
  return { text: lines.join("\n"), notes };
}
