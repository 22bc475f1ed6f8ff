import type { LogLine } from "./event-text.ts";

/** Lists the events of the lab, newest first. */
export function EventLog({ lines }: { readonly lines: readonly LogLine[] }) {
  if (lines.length === 0) {
    return <p class="hint">No events since this page was opened. Starts, stops, changes of links, captures and jobs appear here.</p>;
  }
  return (
    <table class="rows event-log">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Part</th>
          <th scope="col">Event</th>
        </tr>
      </thead>
      <tbody>
        {lines.map(({ id, at, what, text, isProblem }) => (
          <tr key={`${id} ${at} ${what}`}>
            <td>{new Date(at).toLocaleTimeString()}</td>
            <th scope="row">{what}</th>
            <td>{isProblem ? <span class="mark warn">{text}</span> : text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
