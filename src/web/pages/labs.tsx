import { useState } from "preact/hooks";
import type { LabEntry } from "../../contract/schemas/observe.ts";
import { call } from "../api.ts";
import { useEvents } from "../events.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Link } from "../parts/link.tsx";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";

/** The labs that the user may see, as they are now. */
export function Labs({ mayChange }: { readonly mayChange: boolean }) {
  const { data, error, again } = useAnswer((signal) => call("listLabs", {}, { signal }), []);
  const [going, setGoing] = useState<LabEntry>();
  const [failed, setFailed] = useState<unknown>();
  useEvents(undefined, ({ type }) => {
    if (type === "lab" || type === "job" || type === "gap") again();
  });
  const destroy = async (lab: string) => {
    setGoing(undefined);
    setFailed(undefined);
    try {
      await call("destroyProject", { lab });
    } catch (problem) {
      setFailed(problem);
    }
    again();
  };
  if (data === undefined) return error === undefined ? <p class="waiting">Reading the labs…</p> : <Problem error={error} retry={again} />;
  if (data.labs.length === 0) return <NoLabs mayChange={mayChange} />;
  return (
    <section>
      <h1>Labs</h1>
      {failed !== undefined && <Problem error={failed} />}
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Lab</th>
            <th scope="col">Mode</th>
            <th scope="col">Owner</th>
            <th scope="col">Nodes</th>
            <th scope="col">Last change</th>
            <th scope="col">
              <span class="unseen">What you can do</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {data.labs.map((entry) => (
            <tr key={entry.lab}>
              <th scope="row">
                <Link to={{ page: "lab", lab: entry.lab, view: "topology" }}>{entry.name}</Link> <small>{entry.lab}</small>
                {!entry.exists && <span class="mark warn">not on the host</span>}
                {entry.locked === true && <span class="mark">locked</span>}
              </th>
              <td>{entry.mode}</td>
              <td>{entry.owner ?? "–"}</td>
              <td>{entry.nodes ?? "–"}</td>
              <td>{entry.updated_at === undefined ? "–" : new Date(entry.updated_at).toLocaleString()}</td>
              <td>
                {mayChange && (entry.right === "own" || entry.right === "edit") && (
                  <button type="button" class="danger" onClick={() => setGoing(entry)}>
                    Destroy…
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {going !== undefined && (
        <Confirm
          title={`Destroy ${going.name}?`}
          action="Destroy"
          word={going.name}
          onCancel={() => setGoing(undefined)}
          onConfirm={() => void destroy(going.lab)}
        >
          All its nodes are stopped and their disks are removed. What is not in the intent is lost.
        </Confirm>
      )}
    </section>
  );
}

function NoLabs({ mayChange }: { readonly mayChange: boolean }) {
  return (
    <section class="empty">
      <h1>No labs yet</h1>
      <p>A lab is a YAML file of nodes and links. Labwright makes it run and keeps it true.</p>
      {mayChange ? (
        <p>
          <Link to={{ page: "new" }} class="button primary">
            Make the first one
          </Link>
        </p>
      ) : (
        <p>Somebody who may change labs has to share one with you.</p>
      )}
      <p>
        From a terminal: <code>labwright deploy -t lab.yaml</code>
      </p>
    </section>
  );
}
