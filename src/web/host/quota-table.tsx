import type { QuotaData } from "../../contract/schemas/quotas.ts";
import { quotaRows } from "./quota-rows.ts";

/** The limits of users and groups, and what is used of them. A reached limit is marked in words, too. */
export function QuotaTable({ quotas }: { readonly quotas: readonly QuotaData[] }) {
  if (quotas.length === 0) return <p class="hint">No quotas. An admin sets them with labwright quota set.</p>;
  return (
    <div class="host-table">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Quota of</th>
            <th scope="col">Labs</th>
            <th scope="col">Nodes</th>
            <th scope="col">Memory</th>
            <th scope="col">Captures</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {quotaRows(quotas).map(({ key, of, labs, nodes, memory, captures, isFull }) => (
            <tr key={key}>
              <th scope="row">{of}</th>
              <td>{labs}</td>
              <td>{nodes}</td>
              <td>{memory}</td>
              <td>{captures}</td>
              <td>{isFull ? "reached" : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
