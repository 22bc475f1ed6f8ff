import { useState } from "preact/hooks";
import type { LabEntry } from "../../contract/schemas/observe.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { DestroyLab } from "../labs/destroy-lab.tsx";
import { DuplicateLab } from "../labs/duplicate-lab.tsx";
import { LabRow } from "../labs/lab-row.tsx";
import { type LabActions, useLabActions } from "../labs/use-lab-actions.ts";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { useCapabilities } from "../parts/use-capabilities.ts";
import { useTitle } from "../parts/use-title.ts";
import { useLabs } from "./use-labs.ts";
import "../labs/labs.css";

/** Lists the labs that the user may see, with their state. */
export function Labs({ mayChange }: { readonly mayChange: boolean }) {
  const { labs, error, reload, changesOf } = useLabs();
  const features = useCapabilities()?.features ?? {};
  useTitle("Labs");
  const actions = useLabActions(reload);
  /** The dialog that is open, and its lab. Without `entry`, the dialog asks which lab to duplicate. */
  const [asked, setAsked] = useState<{ readonly what: "destroy" | "duplicate" | "stop"; readonly entry?: LabEntry }>();
  const [query, setQuery] = useState("");
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
  const shown = labs.filter((one) => matches(one, query));
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
              <button type="button" onClick={() => setAsked({ what: "duplicate" })}>
                Duplicate a lab…
              </button>
            )}
          </div>
        )}
        <input
          type="search"
          aria-label="Find a lab"
          placeholder="Find a lab"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        <output>{actions.busy || (query === "" ? "" : `${shown.length} of ${labs.length}`)}</output>
      </div>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {actions.error !== undefined && <Problem error={actions.error} />}
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
          {shown.map((entry) => (
            <LabRow
              key={entry.lab}
              entry={entry}
              changes={changesOf(entry.lab)}
              mayChange={mayChange}
              mayDuplicate={mayDuplicate}
              actions={actions}
              onAsk={(what) => setAsked({ what, entry })}
            />
          ))}
        </tbody>
      </table>
      {asked !== undefined && (
        <Question asked={asked} labs={labs} features={features} actions={actions} onClose={() => setAsked(undefined)} />
      )}
    </section>
  );
}

/** Whether the name, the path or the owner of a lab contains the typed text. */
function matches({ lab, name, owner }: LabEntry, query: string): boolean {
  return [lab, name, owner ?? ""].some((text) => text.toLowerCase().includes(query.trim().toLowerCase()));
}

interface QuestionProps {
  readonly asked: { readonly what: "destroy" | "duplicate" | "stop"; readonly entry?: LabEntry };
  readonly labs: readonly LabEntry[];
  readonly features: Readonly<Record<string, boolean>>;
  readonly actions: LabActions;
  readonly onClose: () => void;
}

/** The dialog of an action of a lab. */
function Question({ asked: { what, entry }, labs, features, actions, onClose }: QuestionProps) {
  const closeAnd = (work: () => void) => () => {
    onClose();
    work();
  };
  if (what === "duplicate") return <DuplicateLab labs={labs} source={entry?.lab} onClose={onClose} />;
  if (entry === undefined) return null;
  if (what === "destroy") {
    return <DestroyLab entry={entry} features={features} onCancel={onClose} onConfirm={closeAnd(() => actions.destroy(entry))} />;
  }
  return (
    <Confirm title={`Stop ${entry.name}?`} action="Stop all" onCancel={onClose} onConfirm={closeAnd(() => actions.power(entry, "stop"))}>
      All of its nodes are stopped. Their disks are kept.
    </Confirm>
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
            <li>Run one of the example labs, draw a lab, or write it. Files of other tools can be opened, too.</li>
            <li>Apply it: its nodes start.</li>
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
