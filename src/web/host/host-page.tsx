import type { HostLoadData } from "../../contract/schemas/host-load.ts";
import type { HostUser } from "../../contract/schemas/host-users.ts";
import JobList from "../jobs/job-list.tsx";
import { Problem } from "../parts/problem.tsx";
import { useTitle } from "../parts/use-title.ts";
import { MachineTable } from "./machine-table.tsx";
import { QuotaTable } from "./quota-table.tsx";
import { ReservationTable } from "./reservation-table.tsx";
import type { Usage } from "./usage.ts";
import { useHost } from "./use-host.ts";
import { UserAdmin } from "./user-admin.tsx";
import "./host.css";

/** The page of the host, for admins: its load, the machines of its fleet, the use by the labs of each owner, quotas, reservations, its users, and the newest jobs of all labs. */
export default function HostPage({ user }: { readonly user: string | undefined }) {
  useTitle("Host");
  const { load, machines, users, usage, quotas, reservations, mayChangeUsers, hasJobs, isKnown } = useHost();
  return (
    <section class="host">
      <h1>Host</h1>
      {!isKnown && <p class="waiting">Reading the host…</p>}
      {load.error !== undefined && <Problem error={load.error} retry={load.again} />}
      {load.data !== undefined && <Load load={load.data} />}
      {machines.error !== undefined && <Problem error={machines.error} retry={machines.again} />}
      {machines.data !== undefined && machines.data.length > 0 && <MachineTable machines={machines.data} again={machines.again} />}
      <h2>Use by owner</h2>
      {usage.error !== undefined && <Problem error={usage.error} retry={usage.again} />}
      {usage.data !== undefined && <UsageTable usage={usage.data} />}
      <h2>Quotas</h2>
      {quotas.error !== undefined && <Problem error={quotas.error} retry={quotas.again} />}
      {quotas.data !== undefined && <QuotaTable quotas={quotas.data} />}
      {reservations.error !== undefined && <Problem error={reservations.error} retry={reservations.again} />}
      {reservations.data !== undefined && <ReservationTable reservations={reservations.data} again={reservations.again} />}
      {users.error !== undefined && <Problem error={users.error} retry={users.again} />}
      {users.data !== undefined &&
        (mayChangeUsers ? <UserAdmin users={users.data} me={user} again={users.again} /> : <Users users={users.data} />)}
      {hasJobs && (
        <>
          <h2>Jobs</h2>
          <JobList mayCancel />
        </>
      )}
    </section>
  );
}

function Load({ load }: { readonly load: HostLoadData }) {
  const { cpu_percent: cpu, memory_percent: memory, disk_percent: disk, swap_percent: swap, cpus, memory_bytes: bytes, nodes } = load;
  const bars = [
    [cpus === undefined ? "Processors" : `${cpus} processors`, cpu],
    [bytes === undefined ? "Memory" : `Memory, ${(bytes / 2 ** 30).toFixed(1)} GiB`, memory],
    ["Disk of the labs", disk],
    ...(swap === undefined ? [] : [["Swap", swap] as const]),
  ] as const;
  return (
    <div class="host-load">
      {bars.map(([name, percent]) => (
        <div key={name}>
          <span>{name}</span>
          <meter min={0} max={100} high={90} value={percent} aria-label={name} /> <span>{percent.toFixed(0)} %</span>
        </div>
      ))}
      <p class="hint">
        {nodes.length === 0 ? "No node runs." : `Running: ${nodes.map(({ type, running }) => `${running} ${type}`).join(", ")}.`}
      </p>
    </div>
  );
}

function UsageTable({ usage }: { readonly usage: readonly Usage[] }) {
  if (usage.length === 0) return <p class="hint">No labs yet.</p>;
  return (
    <div class="host-table">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Owner</th>
            <th scope="col">Labs</th>
            <th scope="col">Nodes</th>
            <th scope="col">Captures</th>
            <th scope="col">Disks of destroyed labs</th>
          </tr>
        </thead>
        <tbody>
          {usage.map(({ owner, labs, nodes, captures, captureBytes, keptDiskBytes }) => (
            <tr key={owner}>
              <th scope="row">{owner === "" ? "no owner" : owner}</th>
              <td>{labs}</td>
              <td>{nodes}</td>
              <td>
                {captures}
                {captures > 0 && `, ${sizeText(captureBytes)}`}
              </td>
              <td>{keptDiskBytes === 0 ? "–" : sizeText(keptDiskBytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Users({ users }: { readonly users: readonly HostUser[] }) {
  return (
    <>
      <h2>Users</h2>
      <div class="host-table">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">User</th>
              <th scope="col">Role</th>
              <th scope="col">Name</th>
              <th scope="col">Open lab</th>
            </tr>
          </thead>
          <tbody>
            {users.map(({ user, role, name, lab }) => (
              <tr key={user}>
                <th scope="row">{user}</th>
                <td>{role}</td>
                <td>{name ?? "–"}</td>
                <td>{lab ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function sizeText(bytes: number): string {
  if (bytes >= 2 ** 30) return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  return bytes >= 2 ** 20 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${Math.ceil(bytes / 2 ** 10)} KiB`;
}
