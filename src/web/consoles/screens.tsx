import type { ConsoleEntry } from "../../contract/schemas/console.ts";
import { call } from "../service/api.ts";
import { Problem } from "../parts/problem.tsx";
import { useAnswer } from "../parts/use-answer.ts";

interface ScreensProps {
  readonly lab: string;
  /** Which of the lab's nodes run, as a word that changes with them. */
  readonly running: string;
}

/** Nodes that have a screen, and where a VNC client finds it: pages show text only. Nothing where no node has one. */
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
  if (!available) return <p>{name} does not run; its screen is there when it does.</p>;
  const path = /^unix:(.+)$/.exec(vnc ?? "")?.[1];
  if (path !== undefined) {
    return (
      <>
        <p>For a VNC client, as root (or as the user of the service):</p>
        <pre>{`ssh -L 5901:${path} root@${location.hostname}\nvncviewer localhost::5901`}</pre>
      </>
    );
  }
  if (vnc !== undefined) {
    return (
      <p>
        For a VNC client: <code>{vnc}</code>
      </p>
    );
  }
  return <p>Its console is a screen (VNC), which the lab's host shows on pages of its own.</p>;
}
