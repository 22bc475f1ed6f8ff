import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../parts/problem.tsx";
import { call } from "../service/api.ts";

interface LoginProps {
  /** Why the user is not signed in, if there was an error. */
  readonly reason?: unknown;
  readonly signIn: (token: string) => Promise<void>;
}

/** Asks for the name and password of a host user. The browser keeps only a cookie that scripts cannot read, never the password or a token. */
export function Login({ reason, signIn }: LoginProps) {
  const [error, setError] = useState<unknown>(reason);
  const [busy, setBusy] = useState(false);
  const [provider, setProvider] = useState<string>();
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => {
    first.current?.focus();
    // Without an answer there is no button; the form reports the trouble when it is used.
    call("getHealth", {}).then(
      ({ oidc }) => setProvider(oidc?.name),
      () => undefined,
    );
  }, []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setError(undefined);
    try {
      const { token } = await call("login", { username: String(form.get("username")), password: String(form.get("password")) });
      await signIn(token ?? "");
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form onSubmit={submit}>
        <h1>Labwright</h1>
        <label>
          User name
          <input ref={first} name="username" autocomplete="username" required />
        </label>
        <label>
          Password
          <input name="password" type="password" autocomplete="current-password" required />
        </label>
        <button type="submit" class="primary" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
        {provider !== undefined && (
          <p class="provider">
            <a class="button" href={`/oidc/login?${new URLSearchParams({ return: location.pathname + location.search })}`}>
              Sign in with {provider}
            </a>
            <a href="/oidc/logout">Sign out of {provider}</a>
          </p>
        )}
        {error !== undefined && <Problem error={error} />}
      </form>
    </main>
  );
}
