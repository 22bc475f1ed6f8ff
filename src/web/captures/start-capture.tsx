import { useContext, useMemo, useState } from "preact/hooks";
import { nodeKey } from "../../base/node-key.ts";
import type { InspectedNode } from "../../contract/schemas/observe.ts";
import { Problem } from "../parts/problem.tsx";
import { goTo } from "../parts/route.ts";
import { call } from "../service/api.ts";
import { CaptureAddresses } from "./capture-routes.ts";

interface StartCaptureProps {
  readonly lab: string;
  readonly nodes: readonly InspectedNode[];
}

/** Starts a capture of an interface, with an optional filter, and opens its page. */
export function StartCapture({ lab, nodes }: StartCaptureProps) {
  const addresses = useContext(CaptureAddresses);
  const candidates = useMemo(() => nodes.filter(({ interfaces }) => interfaces.length > 0), [nodes]);
  const [chosenNode, setChosenNode] = useState<string>();
  const [chosenPort, setChosenPort] = useState<string>();
  const [filter, setFilter] = useState("");
  const [state, setState] = useState<{ readonly busy?: boolean; readonly error?: unknown }>({});
  const node = candidates.find((one) => nodeKey(one) === chosenNode) ?? candidates[0];
  if (node === undefined) return <p>No node of the lab has an interface to capture.</p>;
  const { interfaces } = node;
  const port = interfaces.find(({ name }) => name === chosenPort) ?? interfaces.find(({ peer }) => peer !== undefined) ?? interfaces[0];
  const start = async () => {
    setState({ busy: true });
    try {
      const { capture } = await call("startCapture", {
        lab,
        node: nodeKey(node),
        interface: port?.name ?? "",
        ...(filter.trim() !== "" && { filter }),
      });
      goTo(addresses.one(capture));
    } catch (error) {
      setState({ error });
    }
  };
  return (
    <form
      class="start-capture"
      aria-label="New capture"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <label>
        Node
        <select
          value={nodeKey(node)}
          onChange={(event) => {
            setChosenNode(event.currentTarget.value);
            setChosenPort(undefined);
          }}
        >
          {candidates.map((one) => (
            <option key={one.id} value={nodeKey(one)}>
              {nodeKey(one)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Interface
        <select value={port?.name} onChange={(event) => setChosenPort(event.currentTarget.value)}>
          {interfaces.map(({ name, peer }) => (
            <option key={name} value={name}>
              {name}
              {peer === undefined ? "" : ` – ${peer}`}
            </option>
          ))}
        </select>
      </label>
      <label class="grows">
        Capture filter
        <input
          value={filter}
          placeholder="all packets, or a tcpdump filter: icmp or port 179"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary" disabled={state.busy === true}>
        Start a capture
      </button>
      {state.error !== undefined && <Problem error={state.error} />}
    </form>
  );
}
