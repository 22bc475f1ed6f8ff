/** Returns an environment variable; undefined also if it is empty. */
export function env(name: string): string | undefined {
  const value = process.env[name];
  return value === "" ? undefined : value;
}
