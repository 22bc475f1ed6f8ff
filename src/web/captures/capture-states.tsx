import { useContext } from "preact/hooks";
import type { CaptureData } from "../../contract/schemas/captures.ts";
import { Link } from "../parts/link.tsx";
import { CaptureAddresses } from "./capture-routes.ts";

/** Shown in place of a capture that was removed. */
export function Removed({ capture: { node, interface: name, lab } }: { readonly capture: CaptureData }) {
  const addresses = useContext(CaptureAddresses);
  return (
    <section class="empty">
      <h1>The capture was removed</h1>
      <p>
        The capture of {node}:{name} and its packets were removed. <Link to={addresses.all(lab)}>See the captures of {lab}</Link>.
      </p>
    </section>
  );
}

/** Shown to users who may view the lab but not operate it. */
export function PacketsNotAllowed({ capture: { node, interface: name, lab, status } }: { readonly capture: CaptureData }) {
  const addresses = useContext(CaptureAddresses);
  return (
    <section class="empty">
      <h1>
        Capture of {node}:{name}
      </h1>
      <p>
        The capture is {status}. To view or download its packets you need the right to operate <Link to={addresses.all(lab)}>{lab}</Link>.
        Its owner can grant it.
      </p>
    </section>
  );
}

/** Shown while a capture has no packets. */
export function NoPackets({ capture: { node, interface: name, filter, status } }: { readonly capture: CaptureData }) {
  if (status !== "running") {
    return (
      <div class="empty">
        <h2>Nothing was captured</h2>
        <p>
          No packet passed {node}:{name}
          {filter !== undefined && (
            <>
              {" "}
              that matches its filter <code>{filter}</code>
            </>
          )}
          .
        </p>
      </div>
    );
  }
  return (
    <div class="empty">
      <h2>No packets yet</h2>
      <p>
        The capture runs. Packets at {node}:{name}
        {filter !== undefined && (
          <>
            {" "}
            that match its filter <code>{filter}</code>
          </>
        )}{" "}
        appear here within a second or two. To create some, start a ping on the node's console.
      </p>
    </div>
  );
}
