/** Text that plans show in place of a secret. Only the engine's steps contain the values. */
export const hidden = "(sensitive)";

/** Whether an env variable or attribute of this name holds a secret. In doubt, returns true. */
export function isSensitive(name: string): boolean {
  return /pass|secret|token|credential|key|psk|pwd/i.test(name);
}
