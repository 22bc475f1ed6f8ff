/** What a plan shows in place of a secret: values never leave the engine's steps. */
export const hidden = "(sensitive)";

/** Whether an env variable or attribute of this name holds a secret. Errs on the side of hiding. */
export function isSensitive(name: string): boolean {
  return /pass|secret|token|credential|key/i.test(name);
}
