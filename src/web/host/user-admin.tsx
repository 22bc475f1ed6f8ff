import { useState } from "preact/hooks";
import type { InputOf } from "../../client/browser.ts";
import type { HostUser } from "../../contract/schemas/host-users.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { Problem } from "../parts/problem.tsx";
import { call } from "../service/api.ts";

type Role = NonNullable<InputOf<"setHostUser">["role"]>;
const roles: readonly Role[] = ["admin", "user", "viewer"];

interface UserAdminProps {
  readonly users: readonly HostUser[];
  /** The admin who is signed in. */
  readonly me: string | undefined;
  /** Reads the users again. */
  readonly again: () => void;
}

type Question = { readonly kind: "remove" | "password"; readonly user: string };

/** The users of the host: add, remove, role and password. */
export function UserAdmin({ users, me, again }: UserAdminProps) {
  const [question, setQuestion] = useState<Question>();
  const [error, setError] = useState<unknown>();
  const act = async (work: () => Promise<unknown>): Promise<boolean> => {
    setError(undefined);
    try {
      await work();
      return true;
    } catch (problem) {
      setError(problem);
      return false;
    } finally {
      again();
    }
  };
  return (
    <>
      <h2>Users</h2>
      {error !== undefined && <Problem error={error} />}
      <div class="host-table">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">User</th>
              <th scope="col">Role</th>
              <th scope="col">
                <span class="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {users.map(({ user, role }) => (
              <tr key={user}>
                <th scope="row">{user}</th>
                <td>
                  <select
                    aria-label={`Role of ${user}`}
                    value={role}
                    onChange={(event) => void act(() => call("setHostUser", { user, role: event.currentTarget.value as Role }))}
                  >
                    {roles.map((one) => (
                      <option key={one} value={one}>
                        {one}
                      </option>
                    ))}
                  </select>
                </td>
                <td>
                  <div class="buttons">
                    <button type="button" onClick={() => setQuestion({ kind: "password", user })}>
                      New password…<span class="visually-hidden"> of {user}</span>
                    </button>
                    {user !== me && (
                      <button type="button" class="danger" onClick={() => setQuestion({ kind: "remove", user })}>
                        Remove…<span class="visually-hidden"> {user}</span>
                      </button>
                    )}
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <AddUser onAdd={(input) => act(() => call("setHostUser", { ...input, add: true }))} />
      {question?.kind === "remove" && (
        <Confirm
          title={`Remove ${question.user}?`}
          action="Remove"
          onCancel={() => setQuestion(undefined)}
          onConfirm={() => {
            void act(() => call("removeHostUser", { user: question.user }));
            setQuestion(undefined);
          }}
        >
          {question.user} cannot sign in any more, and open sessions end. Labs and disks stay: a later user of this name owns them.
        </Confirm>
      )}
      {question?.kind === "password" && (
        <NewPassword
          key={question.user}
          user={question.user}
          onCancel={() => setQuestion(undefined)}
          onSet={(password) => {
            void act(() => call("setHostUser", { user: question.user, password }));
            setQuestion(undefined);
          }}
        />
      )}
    </>
  );
}

interface NewUser {
  readonly user: string;
  readonly password: string;
  readonly role: Role;
}

function AddUser({ onAdd }: { readonly onAdd: (input: NewUser) => Promise<boolean> }) {
  const empty: NewUser = { user: "", password: "", role: "user" };
  const [input, setInput] = useState(empty);
  const put = (change: Partial<NewUser>) => setInput({ ...input, ...change });
  return (
    <form
      class="buttons"
      aria-label="Add a user"
      onSubmit={(event) => {
        event.preventDefault();
        void onAdd(input).then((isAdded) => isAdded && setInput(empty));
      }}
    >
      <input
        aria-label="Name of the new user"
        placeholder="Name"
        autocomplete="off"
        value={input.user}
        onInput={(event) => put({ user: event.currentTarget.value })}
      />
      <input
        aria-label="Password of the new user"
        placeholder="Password"
        type="password"
        autocomplete="new-password"
        value={input.password}
        onInput={(event) => put({ password: event.currentTarget.value })}
      />
      <select aria-label="Role of the new user" value={input.role} onChange={(event) => put({ role: event.currentTarget.value as Role })}>
        {roles.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <button type="submit" disabled={input.user === "" || input.password === ""}>
        Add
      </button>
    </form>
  );
}

interface NewPasswordProps {
  readonly user: string;
  readonly onSet: (password: string) => void;
  readonly onCancel: () => void;
}

function NewPassword({ user, onSet, onCancel }: NewPasswordProps) {
  const [password, setPassword] = useState("");
  return (
    <Confirm title={`New password of ${user}`} action="Set" onCancel={onCancel} onConfirm={() => onSet(password)}>
      <input
        type="password"
        aria-label="New password"
        autocomplete="new-password"
        value={password}
        onInput={(event) => setPassword(event.currentTarget.value)}
      />
      <span class="hint">At least 8 characters. Open sessions of {user} end.</span>
    </Confirm>
  );
}
