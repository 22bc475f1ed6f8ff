/** Returns the value of a key that a source chose. Unlike `record[key]`, keys such as `constructor`, which every object inherits, have none. */
export function ownValue<V>(record: Readonly<Record<string, V>> | undefined, key: string): V | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
