import { useState } from "preact/hooks";
import type { LeaseState } from "../../../contract/schemas/lease.ts";
import { Problem } from "../../parts/problem.tsx";
import { usePolling } from "../../parts/use-polling.ts";
import { call } from "../../service/api.ts";
import { leaseSummary, leaseWarning } from "./lease-state.ts";

const tickMs = 15_000;
const hourMs = 3_600_000;

/** The end of the lease in the head of a lab's page. */
export function LeaseMark({ lease }: { readonly lease: LeaseState | undefined }) {
  const now = useNow();
  return lease === undefined ? null : <span class="mark">{leaseSummary(lease, now)}</span>;
}

interface LeaseNoticeProps {
  readonly lab: string;
  readonly lease: LeaseState | undefined;
  readonly mayExtend: boolean;
  readonly onExtended: () => void;
}

/** Warns that the lease of a lab ends soon, with buttons that extend it. */
export function LeaseNotice({ lab, lease, mayExtend, onExtended }: LeaseNoticeProps) {
  const now = useNow();
  const [state, setState] = useState<{ readonly isBusy?: boolean; readonly error?: unknown }>({});
  const warning = lease && leaseWarning(lease, now);
  if (warning === undefined) return null;
  const extend = async (ms: number) => {
    setState({ isBusy: true });
    try {
      await call("extendLease", { lab, extend_ms: ms });
      setState({});
    } catch (error) {
      setState({ error });
    }
    onExtended();
  };
  return (
    <div class="notice">
      <div class="buttons">
        <span role="alert">{warning}</span>
        {mayExtend &&
          [1, 8].map((hours) => (
            <button key={hours} type="button" disabled={state.isBusy === true} onClick={() => void extend(hours * hourMs)}>
              Extend by {hours} h
            </button>
          ))}
      </div>
      {state.error !== undefined && <Problem error={state.error} />}
    </div>
  );
}

function useNow(): number {
  const [now, setNow] = useState(Date.now());
  usePolling(() => setNow(Date.now()), tickMs);
  // A lease that has just been read may be newer than the last tick.
  return Math.max(now, Date.now());
}
