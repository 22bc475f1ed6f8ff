const maxLength = 64;

/** Returns why a lab may not have a name, and the rule; undefined for a valid name and for no name. */
export function nameFault(name: string): string | undefined {
  if (name === "") return undefined;
  if (name.length > maxLength) return `A name has at most ${maxLength} characters: this one has ${name.length}.`;
  const other = /[^A-Za-z0-9._-]/u.exec(name)?.[0];
  const allowed = "use letters without accents, digits, dots, hyphens and underscores";
  if (other !== undefined) return `A name may not contain ${other.trim() === "" ? "spaces" : `"${other}"`}: ${allowed}.`;
  return /^[A-Za-z0-9]/.test(name) ? undefined : "A name begins with a letter or a digit.";
}
