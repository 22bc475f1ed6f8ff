/** Converts a host's name of a lab, which may have other characters, to a valid name. A valid name stays as it is. */
export function toLabName(text: string): string {
  const name = text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
  return name.slice(0, 64) || "lab";
}
