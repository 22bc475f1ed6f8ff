/**
 * The mark of this browser's session, its expiry time, in local storage because scripts cannot read the cookie. A first visit finds none, and so sends no
 * request for a session that the service would refuse.
 */
const key = "labwright-session-until";

export function rememberSession(expiresAt: string): void {
  localStorage.setItem(key, expiresAt);
}

export function forgetSession(): void {
  localStorage.removeItem(key);
}

/**
 * Whether this browser may have a session. Its expiry time is not compared with the clock: a clock that is wrong would show the form to a user who is
 * signed in, and the service refuses an ended session anyway.
 */
export function maybeSignedIn(): boolean {
  return localStorage.getItem(key) !== null;
}
