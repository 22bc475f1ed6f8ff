/**
 * Until when this browser's session lasts, as far as pages know: the cookie itself is hidden from them. It keeps a first visit from asking the
 * service who it is, which would only be refused.
 */
const key = "labwright-session-until";

export function rememberSession(expiresAt: string): void {
  localStorage.setItem(key, expiresAt);
}

export function forgetSession(): void {
  localStorage.removeItem(key);
}

/** Whether asking the service may find a session. */
export function maybeSignedIn(now: number): boolean {
  return Date.parse(localStorage.getItem(key) ?? "") > now;
}
