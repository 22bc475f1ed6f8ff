import type { CaptureData } from "../../contract/schemas/captures.ts";
import { Link } from "../parts/link.tsx";

/** What is left to say of one that is no more. */
export function Removed({ capture: { node, interface: name, lab } }: { readonly capture: CaptureData }) {
  return (
    <section class="empty">
      <h1>The capture was removed</h1>
      <p>
        Somebody removed the capture of {node}:{name}, and its packets with it.{" "}
        <Link to={{ page: "lab", lab, view: "captures" }}>See the captures of {lab}</Link>.
      </p>
    </section>
  );
}

/** For who may look at the lab, and not operate it. */
export function Kept({ capture: { node, interface: name, lab, status } }: { readonly capture: CaptureData }) {
  return (
    <section class="empty">
      <h1>
        {node}:{name} is captured
      </h1>
      <p>
        The capture is {status}. Packets are for those who operate the lab: to look into them, or to download them, takes the right to
        operate <Link to={{ page: "lab", lab, view: "captures" }}>{lab}</Link>. Its owner can grant it.
      </p>
    </section>
  );
}

/** Before the first packet, or where none came. */
export function NoPackets({ capture: { node, interface: name, filter, status } }: { readonly capture: CaptureData }) {
  if (status !== "running") {
    return (
      <div class="empty">
        <h2>Nothing was captured</h2>
        <p>
          Until the capture ended no packet passed {node}:{name}
          {filter !== undefined && (
            <>
              {" "}
              that its filter <code>{filter}</code> takes
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
        The capture runs. What passes {node}:{name}
        {filter !== undefined && (
          <>
            {" "}
            and its filter <code>{filter}</code> takes
          </>
        )}{" "}
        is shown here within a second or two. A ping from the node's console makes some.
      </p>
    </div>
  );
}
