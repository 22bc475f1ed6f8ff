import { useEffect, useRef, useState } from "preact/hooks";
import { useModal } from "../dialog/use-modal.ts";
import { Problem } from "../parts/problem.tsx";
import { type GrantRight, grantRights } from "./grants.ts";
import { type GrantsControl, useGrants } from "./use-grants.ts";
import "./share.css";

interface ShareLabProps {
  readonly lab: string;
  readonly onClose: () => void;
}

/** Lists the users with whom a lab is shared, with their rights, and shares it with others. */
export default function ShareLab({ lab, onClose }: ShareLabProps) {
  const dialog = useModal();
  const control = useGrants(lab);
  const { data, error, retry, notice } = control;
  return (
    <dialog ref={dialog} class="share" onCancel={onClose} aria-label={`Share ${lab}`}>
      <h2>Share {lab}</h2>
      {error !== undefined && <Problem error={error} retry={retry} />}
      {data === undefined && error === undefined && <p class="hint">Reading…</p>}
      {data !== undefined && (
        <>
          <ShareForm control={control} />
          <table class="rows">
            <tbody>
              <tr>
                <th scope="row">{data.owner}</th>
                <td>owner</td>
                <td />
              </tr>
              {data.grants.map((grant) => (
                <GrantRow key={grant.user} control={control} {...grant} />
              ))}
            </tbody>
          </table>
        </>
      )}
      <div class="buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
        <output>{notice}</output>
      </div>
    </dialog>
  );
}

function ShareForm({ control: { share, isBusy } }: { readonly control: GrantsControl }) {
  const [user, setUser] = useState("");
  const [right, setRight] = useState<GrantRight>("view");
  const name = useRef<HTMLInputElement>(null);
  // The form comes after the dialog, which then has the focus on its last button.
  useEffect(() => name.current?.focus(), []);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        share({ user: user.trim(), right });
        setUser("");
      }}
    >
      <label>
        User
        <input ref={name} value={user} onInput={(event) => setUser(event.currentTarget.value)} autocomplete="off" spellcheck={false} />
      </label>
      <RightChoice label="Right" value={right} isBusy={isBusy} onChoose={setRight} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy || user.trim() === ""}>
          Share
        </button>
      </div>
    </form>
  );
}

interface GrantRowProps {
  readonly control: GrantsControl;
  readonly user: string;
  readonly right: GrantRight;
}

function GrantRow({ control: { share, unshare, isBusy }, user, right }: GrantRowProps) {
  return (
    <tr>
      <th scope="row">{user}</th>
      <td>
        <RightChoice label={`Right of ${user}`} value={right} isBusy={isBusy} onChoose={(next) => share({ user, right: next })} />
      </td>
      <td>
        <button type="button" disabled={isBusy} onClick={() => unshare(user)}>
          Remove<span class="visually-hidden"> {user}</span>
        </button>
      </td>
    </tr>
  );
}

interface RightChoiceProps {
  readonly label: string;
  readonly value: GrantRight;
  readonly isBusy: boolean;
  readonly onChoose: (right: GrantRight) => void;
}

function RightChoice({ label, value, isBusy, onChoose }: RightChoiceProps) {
  return (
    <select aria-label={label} value={value} disabled={isBusy} onChange={(event) => onChoose(event.currentTarget.value as GrantRight)}>
      {grantRights.map(([right, text]) => (
        <option key={right} value={right}>
          {text}
        </option>
      ))}
    </select>
  );
}
