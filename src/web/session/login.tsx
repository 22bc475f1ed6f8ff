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
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
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
        {error !== undefined && <Problem error={error} />}
      </form>
    </main>
  );
}
