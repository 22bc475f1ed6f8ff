import { useState } from "preact/hooks";
import type { LabGrant, LabGrantsData } from "../../contract/schemas/sharing.ts";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";
import { withGrant, withoutGrant } from "./grants.ts";

export interface GrantsControl {
  /** undefined until it is read. */
  readonly data: LabGrantsData | undefined;
  readonly error: unknown;
  readonly retry: () => void;
  readonly isBusy: boolean;
  readonly notice: string;
  readonly share: (grant: LabGrant) => void;
  readonly unshare: (user: string) => void;
}

/** The users with whom a lab is shared. */
export function useGrants(lab: string): GrantsControl {
  const { data, error, again } = useAnswer((signal) => call("getLabGrants", { lab }, { signal }), [lab]);
  const [state, setState] = useState<{ readonly busy?: boolean; readonly error?: unknown; readonly notice?: string }>({});
  /** The list is read just before the change: another page may have changed it. */
  const change = async (of: (grants: readonly LabGrant[]) => readonly LabGrant[], notice: string) => {
    setState({ busy: true });
    try {
      const { grants } = await call("getLabGrants", { lab });
      await call("setLabGrants", { lab, grants: of(grants) });
      setState({ notice });
    } catch (problem) {
      setState({ error: problem });
    }
    again();
  };
  return {
    data,
    error: state.error ?? error,
    retry: again,
    isBusy: state.busy === true,
    notice: state.notice ?? "",
    share: (grant) => void change((grants) => withGrant(grants, grant), `Shared with ${grant.user}.`),
    unshare: (user) => void change((grants) => withoutGrant(grants, user), `No longer shared with ${user}.`),
  };
}
