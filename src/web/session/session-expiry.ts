/**
 * The expiry time of this browser's session, in local storage because scripts cannot read the cookie. A first visit finds none, and so sends no
 * request for a session that the service would refuse.
 */
const key = "labwright-session-until";

export function rememberSession(expiresAt: string): void {
  localStorage.setItem(key, expiresAt);
}

export function forgetSession(): void {
  localStorage.removeItem(key);
}

/** Whether this browser may have a session. */
export function maybeSignedIn(now: number): boolean {
  return Date.parse(localStorage.getItem(key) ?? "") > now;
}
