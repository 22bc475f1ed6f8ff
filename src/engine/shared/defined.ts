/** Drops properties whose value is undefined, so that absent stays absent. */
export function defined<T extends object>(value: { readonly [K in keyof T]: T[K] | undefined }): T {
  const result: Record<string, unknown> = {};
  for (const [key, one] of Object.entries(value)) if (one !== undefined) result[key] = one;
  return result as T;
}
