import { useState } from "preact/hooks";
import { call } from "../service/api.ts";
import { Problem } from "../parts/problem.tsx";

/** Name and password of the host's user, once; the browser keeps a cookie that scripts cannot read, never the password or a token. */
export function Login({ why, enter }: { readonly why?: unknown; readonly enter: (token: string) => Promise<void> }) {
  const [error, setError] = useState<unknown>(why);
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setError(undefined);
    try {
      const { token } = await call("login", { username: String(form.get("username")), password: String(form.get("password")) });
      await enter(token ?? "");
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
          <input name="username" autocomplete="username" required />
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
