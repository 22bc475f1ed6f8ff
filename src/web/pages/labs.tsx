import { useState } from "preact/hooks";
import type { EventData, LabEntry } from "../../contract/schemas/observe.ts";
import { call } from "../service/api.ts";
import { useEvents } from "../service/events.ts";
import { DestroyLab } from "../labs/destroy-lab.tsx";
import { ImportLab } from "../labs/duplicate-lab.tsx";
import { LabRow } from "../labs/lab-row.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { useCapabilities } from "../parts/use-capabilities.ts";
import { useTitle } from "../parts/use-title.ts";
import "../labs/labs.css";

interface Seen {
  readonly state: number;
  readonly shape: number;
}

const unseen: Seen = { state: 0, shape: 0 };

/** The labs that the user may see, as they are now. */
export function Labs({ mayChange }: { readonly mayChange: boolean }) {
  const { data, error, again } = useAnswer((signal) => call("listLabs", {}, { signal }), []);
  const able = useCapabilities();
  useTitle("Labs");
  const [going, setGoing] = useState<LabEntry>();
  /** Path of the source; "" for one that is yet to be chosen. */
  const [importing, setImporting] = useState<string>();
  const [failed, setFailed] = useState<unknown>();
  const [busy, setBusy] = useState("");
  const [seen, setSeen] = useState<ReadonlyMap<string, Seen>>(new Map());
  /** Deleted since the list was read: nothing more is asked of them. */
  const [gone, setGone] = useState<ReadonlySet<string>>(new Set());
  useEvents(undefined, (event) => {
    const change = event.type === "lab" ? (event.data as { readonly change?: string }).change : undefined;
    if (change !== undefined && event.lab !== undefined) setGone(withMember(gone, event.lab, change === "deleted"));
    if (event.type === "lab" || event.type === "gap" || ended(event)) again();
    setSeen((before) => heard(before, event, data?.labs ?? []));
  });
  const destroy = async ({ lab, name }: LabEntry) => {
    setGoing(undefined);
    setFailed(undefined);
    setBusy(`Destroying ${name}…`);
    try {
      await call("destroyProject", { lab });
    } catch (problem) {
      setFailed(problem);
    }
    setBusy("");
    again();
  };
  if (data === undefined) {
    if (error === undefined) return <p class="waiting">Reading the labs…</p>;
    return (
      <section>
        <h1>Labs</h1>
        <Problem error={error} retry={again} />
      </section>
    );
  }
  const labs = data.labs.filter(({ lab }) => !gone.has(lab));
  const mayImport = able?.features?.["importLab"] === true;
  const question = (
    <>
      {going !== undefined && (
        <DestroyLab
          entry={going}
          features={able?.features ?? {}}
          onCancel={() => setGoing(undefined)}
          onConfirm={() => void destroy(going)}
        />
      )}
      {importing !== undefined && <ImportLab labs={labs} source={importing || undefined} onClose={() => setImporting(undefined)} />}
    </>
  );
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
            {mayImport && (
              <button type="button" onClick={() => setImporting("")}>
                Import a lab…
              </button>
            )}
          </div>
        )}
        <output>{busy}</output>
      </div>
      {error !== undefined && <Problem error={error} retry={again} />}
      {failed !== undefined && <Problem error={failed} />}
      <table class="rows labs">
        <thead>
          <tr>
            <th scope="col">Lab</th>
            <th scope="col">State</th>
            <th scope="col">Host and intent</th>
            <th scope="col">Owner</th>
            <th scope="col">Last change</th>
            <th scope="col">
              <span class="unseen">What you can do</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {labs.map((entry) => (
            <LabRow
              key={entry.lab}
              entry={entry}
              seen={seen.get(entry.lab) ?? unseen}
              mayChange={mayChange}
              mayImport={mayImport}
              onDestroy={() => setGoing(entry)}
              onImport={() => setImporting(entry.lab)}
            />
          ))}
        </tbody>
      </table>
      {question}
    </section>
  );
}

/** Counts, for each lab that an event may be of, that something happened in it. */
function heard(before: ReadonlyMap<string, Seen>, event: EventData, labs: readonly LabEntry[]): ReadonlyMap<string, Seen> {
  const of = event.lab === undefined ? labs.map(({ lab }) => lab) : [event.lab];
  const shape = event.type === "lab" || event.type === "link" || event.type === "gap" || ended(event) ? 1 : 0;
  const now = new Map(before);
  for (const lab of of) {
    const { state, shape: shapes } = before.get(lab) ?? unseen;
    now.set(lab, { state: state + 1, shape: shapes + shape });
  }
  return now;
}

function withMember(set: ReadonlySet<string>, member: string, is: boolean): ReadonlySet<string> {
  const next = new Set(set);
  if (is) next.add(member);
  else next.delete(member);
  return next;
}

function ended({ type, data }: EventData): boolean {
  return type === "job" && (data as { readonly outcome?: string } | undefined)?.outcome !== undefined;
}

function NoLabs({ mayChange }: { readonly mayChange: boolean }) {
  return (
    <section class="empty">
      <h1>No labs yet</h1>
      <p>A lab is a YAML file of nodes and links. Labwright makes it run, shows it, and keeps it true.</p>
      {mayChange ? (
        <>
          <ol>
            <li>Write the lab, drop a file on the page, or begin with the example that is there.</li>
            <li>Deploy it: its nodes start, and its topology opens.</li>
            <li>Open consoles, change links, capture packets; change the text and apply what differs.</li>
          </ol>
          <p>
            <Link to={{ page: "new" }} class="button primary">
              Make the first one
            </Link>
          </p>
        </>
      ) : (
        <p>Somebody who may change labs has to share one with you.</p>
      )}
      <p>
        From a terminal: <code>labwright deploy -t lab.yaml</code>
      </p>
    </section>
  );
}
