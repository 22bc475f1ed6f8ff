import { useState } from "preact/hooks";
import type { ReservationData } from "../../contract/schemas/reservations.ts";
import { Problem } from "../parts/problem.tsx";
import { call } from "../service/api.ts";

/** The room that is reserved, now and later. */
export function ReservationTable({
  reservations,
  again,
}: {
  readonly reservations: readonly ReservationData[];
  readonly again: () => void;
}) {
  const [error, setError] = useState<unknown>();
  const cancel = async (id: string) => {
    setError(undefined);
    await call("removeReservation", { id }).catch(setError);
    again();
  };
  return (
    <>
      <h2>Reservations</h2>
      {error !== undefined && <Problem error={error} retry={() => setError(undefined)} />}
      {reservations.length === 0 && <p class="hint">No room is reserved. labwright reserve reserves some.</p>}
      {reservations.length > 0 && (
        <div class="host-table">
          <table class="rows">
            <thead>
              <tr>
                <th scope="col">User</th>
                <th scope="col">From</th>
                <th scope="col">Until</th>
                <th scope="col">Memory</th>
                <th scope="col">Nodes</th>
                <th scope="col">Machine</th>
                <th scope="col">State</th>
              </tr>
            </thead>
            <tbody>
              {reservations.map(({ id, user, from, until, memory_mib: memory, nodes, machine, active }) => (
                <tr key={id}>
                  <th scope="row">{user}</th>
                  <td>{new Date(from).toLocaleString()}</td>
                  <td>{new Date(until).toLocaleString()}</td>
                  <td>{memory} MiB</td>
                  <td>{nodes}</td>
                  <td>{machine ?? "this one"}</td>
                  <td>
                    {active ? "active" : "later"}{" "}
                    <button type="button" onClick={() => void cancel(id)}>
                      Cancel
                      <span class="visually-hidden">
                        {" "}
                        the reservation of {user} from {from}
                      </span>
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
