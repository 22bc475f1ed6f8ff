import type { ConsoleEntry } from "../../contract/schemas/console.ts";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { call } from "../service/api.ts";

interface ScreensProps {
  readonly lab: string;
  /** The ids of running nodes; the list is read again when it changes. */
  readonly running: string;
}

/** Lists the nodes with a screen, and how a VNC client connects to each: the pages show text only. Empty without such nodes. */
export function Screens({ lab, running }: ScreensProps) {
  const { data, error, again } = useAnswer((signal) => call("listProjectConsoles", { lab }, { signal }), [lab, running]);
  if (error !== undefined) return <Problem error={error} retry={again} />;
  const screens = (data?.consoles ?? []).filter(({ console_type, vnc }) => vnc !== undefined || console_type === "vnc");
  if (screens.length === 0) return null;
  return (
    <section class="screens" aria-label="Screens">
      <h2>Screens</h2>
      {screens.map((one) => (
        <details key={one.id}>
          <summary>{one.name}</summary>
          <HowToConnect {...one} />
        </details>
      ))}
    </section>
  );
}

function HowToConnect({ name, vnc, available }: ConsoleEntry) {
  if (!available) return <p>{name} does not run. Its screen is available while it runs.</p>;
  const path = /^unix:(.+)$/.exec(vnc ?? "")?.[1];
  if (path !== undefined) {
    return (
      <>
        <p>With a VNC client, as root (or as the user of the service):</p>
        <pre>{`ssh -L 5901:${path} root@${location.hostname}\nvncviewer localhost::5901`}</pre>
      </>
    );
  }
  if (vnc !== undefined) {
    return (
      <p>
        With a VNC client: <code>{vnc}</code>
      </p>
    );
  }
  return <p>Its console is a screen (VNC). Open it in the web pages of the lab's host.</p>;
}
