/** Counts the Host headers of a request. Node keeps only the first, and a proxy in front of the service may have used another. */
export function hostCount(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count;
}
