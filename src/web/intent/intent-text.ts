/** A lab's text, and the files that it names, by path. */
export interface IntentText {
  readonly yaml: string;
  readonly files: Readonly<Record<string, string>>;
}

export function sameIntent(a: IntentText, b: IntentText): boolean {
  return a.yaml === b.yaml && changedFiles(a, b).length === 0;
}

/** Returns the paths of files that differ, sorted. */
export function changedFiles({ files: a }: IntentText, { files: b }: IntentText): readonly string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((path) => a[path] !== b[path]).sort();
}
