/** Returns the first of name-2, name-3, … that is not taken. */
export function freeNameOf(name: string, taken: readonly string[]): string {
  const names = new Set(taken);
  for (let number = 2; ; number += 1) {
    const free = `${name}-${number}`;
    if (!names.has(free)) return free;
  }
}

/** Returns the text of a lab with another name. */
export function renamed(yaml: string, name: string): string {
  return yaml.replace(/^name:.*$/m, `name: ${name}`);
}
