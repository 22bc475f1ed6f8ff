import { useState } from "preact/hooks";
import type { DrainData, MachineData } from "../../contract/schemas/machines.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { Problem } from "../parts/problem.tsx";
import { call } from "../service/api.ts";
import { machineRows } from "./machine-rows.ts";

/** The machines of the fleet, with their load; admins keep new labs away from one. */
export function MachineTable({ machines, again }: { readonly machines: readonly MachineData[]; readonly again: () => void }) {
  const [error, setError] = useState<unknown>();
  const [asked, setAsked] = useState<string>();
  const [drained, setDrain] = useState<DrainData>();
  const set = async (name: string, state: MachineData["state"]) => {
    setError(undefined);
    await call("setMachine", { name, state }).catch(setError);
    again();
  };
  const drain = async (name: string) => {
    setAsked(undefined);
    setError(undefined);
    await call("drainMachine", { name }).then(setDrain, setError);
    again();
  };
  return (
    <>
      <h2>Machines</h2>
      {asked !== undefined && (
        <Confirm title={`Drain ${asked}`} action="Drain" onConfirm={() => void drain(asked)} onCancel={() => setAsked(undefined)}>
          {asked} gets no new labs. Its stopped labs move to other machines with their disks, one after the other, and so do labs that are
          stopped later. Running labs stay.
        </Confirm>
      )}
      {drained !== undefined && (
        <p role="status">
          {drained.machine}: {drained.moves.length} {drained.moves.length === 1 ? "lab moves" : "labs move"} away.
          {drained.staying.length > 0 && ` These stay until they are stopped: ${drained.staying.map(({ lab }) => lab).join(", ")}.`}
        </p>
      )}
      {error !== undefined && <Problem error={error} retry={() => setError(undefined)} />}
      <div class="host-table">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Machine</th>
              <th scope="col">State</th>
              <th scope="col">Labs</th>
              <th scope="col">Memory</th>
              <th scope="col">Load</th>
              <th scope="col">Labels</th>
              <th scope="col">New labs</th>
            </tr>
          </thead>
          <tbody>
            {machineRows(machines, (at) => new Date(at).toLocaleString()).map(
              ({ name, isCordoned, isDraining, runsLabs, state, isLost, labs, memory, load, labels, problem }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td class={isLost || problem !== "" ? "bad" : ""}>
                    {state}
                    {problem !== "" && <p>{problem}</p>}
                  </td>
                  <td>{labs}</td>
                  <td>{memory}</td>
                  <td>{load}</td>
                  <td>{labels}</td>
                  <td>
                    {runsLabs && (
                      <button type="button" onClick={() => void set(name, isCordoned ? "active" : "cordoned")}>
                        {isCordoned ? "Allow" : "Keep away"}
                        <span class="visually-hidden">
                          {" "}
                          {isCordoned ? "on" : "from"} {name}
                        </span>
                      </button>
                    )}{" "}
                    {runsLabs && !isDraining && !isLost && (
                      <button type="button" onClick={() => setAsked(name)}>
                        Drain<span class="visually-hidden"> {name}</span>
                      </button>
                    )}
                  </td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </div>
    </>
  );
}
