/**
 * Runs the work for each item, at most `width` at a time. Returns the results in the items' order. After a failure no further work starts, and the
 * failure is thrown when the running work is done.
 */
export async function parallel<T, R>(items: readonly T[], width: number, work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  let failed: { readonly error: unknown } | undefined;
  const worker = async () => {
    while (next < items.length && failed === undefined) {
      const index = next++;
      try {
        results[index] = await work(items[index] as T);
      } catch (error) {
        failed ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  if (failed !== undefined) throw failed.error;
  return results;
}
