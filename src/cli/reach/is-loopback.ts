const names = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Returns whether the host name of a URL is this machine: the service then runs here. */
export function isLoopback(hostname: string): boolean {
  return names.has(hostname);
}
