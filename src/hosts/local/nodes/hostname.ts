/** Converts a display name to a host name: letters, digits, dots and hyphens, at most 64 characters. */
export function hostname(name: string): string {
  return (
    name
      .replace(/[^A-Za-z0-9.-]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, "")
      .slice(0, 63) || "node"
  );
}
