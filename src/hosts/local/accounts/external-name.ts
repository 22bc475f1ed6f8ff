const maxLength = 64;
/** Names whose owner a reader would take for the service or its first admin. */
const reserved: ReadonlySet<string> = new Set(["admin", "root", "lease", "service", "system", "labwright"]);

/**
 * Returns the first name of a list that can be the name of an account and is free, in lower case; otherwise the first one with a number, ann-2. The names come
 * from a provider, where people often choose them: a name must never become that of another account.
 */
export async function freeName(names: readonly string[], isTaken: (name: string) => Promise<boolean>): Promise<string> {
  const [base = "user"] = names.map(cleaned).filter((name) => name !== "");
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? "" : `-${number}`;
    const name = `${base.slice(0, maxLength - suffix.length)}${suffix}`;
    if (!reserved.has(name) && !(await isTaken(name))) return name;
  }
}

function cleaned(name: string): string {
  const plain = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9._@-]+/g, "-");
  return plain
    .replace(/^[^a-z0-9]+/, "")
    .replace(/-+$/, "")
    .slice(0, maxLength);
}
