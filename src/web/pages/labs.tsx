import { useState } from "preact/hooks";
import type { LabEntry } from "../../contract/schemas/observe.ts";
import { DestroyLab } from "../labs/destroy-lab.tsx";
import { DuplicateLab } from "../labs/duplicate-lab.tsx";
import { LabRow } from "../labs/lab-row.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { useCapabilities } from "../parts/use-capabilities.ts";
import { useTitle } from "../parts/use-title.ts";
import { call } from "../service/api.ts";
import { useLabs } from "./use-labs.ts";
import "../labs/labs.css";

/** Lists the labs that the user may see, with their state. */
export function Labs({ mayChange }: { readonly mayChange: boolean }) {
  const { labs, error, reload, changesOf } = useLabs();
  const features = useCapabilities()?.features ?? {};
  useTitle("Labs");
  const [destroying, setDestroying] = useState<LabEntry>();
  /** Path of the lab that is duplicated; "" to choose it in the dialog. */
  const [duplicating, setDuplicating] = useState<string>();
  const [destroyError, setDestroyError] = useState<unknown>();
  const [busy, setBusy] = useState("");
  const destroy = async ({ lab, name }: LabEntry) => {
    setDestroying(undefined);
    setDestroyError(undefined);
    setBusy(`Destroying ${name}…`);
    try {
      await call("destroyProject", { lab });
    } catch (problem) {
      setDestroyError(problem);
    }
    setBusy("");
    reload();
  };
  if (labs === undefined) {
    if (error === undefined) return <p class="waiting">Reading the labs…</p>;
    return (
      <section>
        <h1>Labs</h1>
        <Problem error={error} retry={reload} />
      </section>
    );
  }
  const mayDuplicate = features["importLab"] === true;
  if (labs.length === 0) return <NoLabs mayChange={mayChange} />;
  return (
    <section>
      <div class="lab-head">
        <h1>Labs</h1>
        {mayChange && (
          <div class="buttons">
            <Link to={{ page: "new" }} class="button primary">
              New lab
            </Link>
            {mayDuplicate && (
              <button type="button" onClick={() => setDuplicating("")}>
                Duplicate a lab…
              </button>
            )}
          </div>
        )}
        <output>{busy}</output>
      </div>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {destroyError !== undefined && <Problem error={destroyError} />}
      <table class="rows labs">
        <thead>
          <tr>
            <th scope="col">Lab</th>
            <th scope="col">State</th>
            <th scope="col">Host and intent</th>
            <th scope="col">Owner</th>
            <th scope="col">Last change</th>
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {labs.map((entry) => (
            <LabRow
              key={entry.lab}
              entry={entry}
              changes={changesOf(entry.lab)}
              mayChange={mayChange}
              mayDuplicate={mayDuplicate}
              onDestroy={() => setDestroying(entry)}
              onDuplicate={() => setDuplicating(entry.lab)}
            />
          ))}
        </tbody>
      </table>
      {destroying !== undefined && (
        <DestroyLab
          entry={destroying}
          features={features}
          onCancel={() => setDestroying(undefined)}
          onConfirm={() => void destroy(destroying)}
        />
      )}
      {duplicating !== undefined && (
        <DuplicateLab labs={labs} source={duplicating || undefined} onClose={() => setDuplicating(undefined)} />
      )}
    </section>
  );
}

function NoLabs({ mayChange }: { readonly mayChange: boolean }) {
  return (
    <section class="empty">
      <h1>No labs yet</h1>
      <p>A lab is a YAML file of nodes and links. Labwright runs it, shows it, and keeps the host in sync with the file.</p>
      {mayChange ? (
        <>
          <ol>
            <li>Write the lab, drop a file on the page, or start with the example.</li>
            <li>Deploy it: its nodes start, and its topology opens.</li>
            <li>Open consoles, change links, capture packets. Edit the text, and apply the difference.</li>
          </ol>
          <p>
            <Link to={{ page: "new" }} class="button primary">
              Create a lab
            </Link>
          </p>
        </>
      ) : (
        <p>A user who may change labs has to share one with you.</p>
      )}
      <p>
        From a terminal: <code>labwright deploy -t lab.yaml</code>
      </p>
    </section>
  );
}
