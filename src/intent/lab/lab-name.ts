/** The name of a lab in its file that stands for a name on a host, which may hold other characters. A valid name stays as it is. */
export function toLabName(text: string): string {
  const name = text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
  return name.slice(0, 64) || "lab";
}
