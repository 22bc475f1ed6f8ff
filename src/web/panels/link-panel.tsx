import { useState } from "preact/hooks";
import type { InspectedInterface, InspectedLink, LinkQuality, LinkQualitySides } from "../../contract/schemas/observe.ts";
import { call } from "../service/api.ts";
import { CaptureButton } from "../captures/capture-button.tsx";
import { saveQuality } from "../intent/edit-intent.ts";
import { sideWords } from "../topology/graph/quality-text.ts";
import type { LabRights } from "../labs/lab-rights.ts";
import { lazy } from "../parts/lazy.tsx";
import { Problem } from "../parts/problem.tsx";
import { QualityFields, type QualityText, qualityOf, textOf } from "./quality-fields.tsx";
import { useFeature } from "../parts/use-feature.ts";

const LinkLive = lazy(() => import("../links/link-live.tsx"));

interface LinkPanelProps {
  readonly lab: string;
  readonly link: InspectedLink;
  /** At each end; undefined for a network. */
  readonly interfaces: readonly (InspectedInterface | undefined)[];
  readonly rights: LabRights;
  readonly onClose: () => void;
  /** Told after a change. */
  readonly onChanged: () => void;
}

const sides = ["a", "b"] as const;

/** One link: what it does to packets in each direction, and its two plugs. */
export function LinkPanel({ lab, link, interfaces, rights, onClose, onChanged }: LinkPanelProps) {
  const [a = "", b = ""] = link.endpoints;
  const endpoints = [a, b] as const;
  const now = link.quality ?? link.stored_quality ?? {};
  const [text, setText] = useState(() => ({ a: textOf(now.a), b: textOf(now.b) }));
  const [save, setSave] = useState(false);
  const [effective, setEffective] = useState<LinkQualitySides>();
  const [state, setState] = useState<{ readonly busy?: string; readonly told?: string; readonly error?: unknown }>({});
  const run = async (busy: string, work: () => Promise<string>) => {
    setState({ busy });
    try {
      setState({ told: await work() });
    } catch (error) {
      setState({ error });
    }
    onChanged();
  };
  const apply = (wanted: { readonly a: QualityText; readonly b: QualityText }) =>
    run("Applying…", async () => {
      const asked = { a: qualityOf(wanted.a), b: qualityOf(wanted.b) };
      const answer = await call("applyLinkQuality", { lab, endpoints, ...present(asked), ...(save && { save }) });
      setEffective(answer.effective);
      if (!save) return "Applied to the running link.";
      await saveQuality(lab, endpoints, asked);
      return "Applied, and saved to the intent.";
    });
  const clear = () => {
    const none = { a: textOf(undefined), b: textOf(undefined) };
    setText(none);
    void apply(none);
  };
  const suspend = (suspended: boolean, side?: "a" | "b") =>
    run(suspended ? "Suspending…" : "Resuming…", async () => {
      await call("setLinkSuspend", { lab, endpoints, suspended, ...(side && { side }) });
      return suspended ? "Suspended: there is no carrier." : "Resumed.";
    });
  const { data: traffic } = useFeature("traffic");
  const read = effective ?? now;
  const busy = state.busy !== undefined;
  return (
    <aside class="panel" aria-label={`Link ${a} to ${b}`}>
      <h2>
        {a} – {b}
        <button type="button" class="close" onClick={onClose} aria-label="Close">
          ×
        </button>
      </h2>
      <h3>In effect</h3>
      <dl>
        <dt>{a} →</dt>
        <dd>{sideWords(read.a ?? {}) || "a plain cable"}</dd>
        <dt>{b} →</dt>
        <dd>{sideWords(read.b ?? {}) || "a plain cable"}</dd>
      </dl>
      {traffic === true && <LinkLive lab={lab} link={link.key} endpoints={endpoints} />}
      {rights.operate && <h3>Set</h3>}
      {rights.operate && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void apply(text);
          }}
        >
          <QualityFields legend={`What leaves ${a}`} value={text.a} onChange={(value) => setText((all) => ({ ...all, a: value }))} />
          <QualityFields legend={`What leaves ${b}`} value={text.b} onChange={(value) => setText((all) => ({ ...all, b: value }))} />
          <div class="buttons">
            <button type="button" onClick={() => setText(({ a: same }) => ({ a: same, b: same }))}>
              Same for both
            </button>
          </div>
          {rights.edit && (
            <label class="choice">
              <input type="checkbox" checked={save} onChange={(event) => setSave(event.currentTarget.checked)} />
              Save to the intent, too
            </label>
          )}
          <div class="buttons">
            <button type="submit" class="primary" disabled={busy}>
              Apply
            </button>
            <button type="button" onClick={clear} disabled={busy}>
              Clear
            </button>
            <output>{state.busy ?? state.told}</output>
          </div>
        </form>
      )}
      {state.error !== undefined && <Problem error={state.error} />}
      <h3>Plugs</h3>
      <table class="rows plugs">
        <tbody>
          {sides.map((side, turn) => {
            const plug = interfaces[turn];
            if (plug === undefined) return null;
            return (
              <tr key={side}>
                <th scope="row">
                  {endpoints[turn]}
                  <small>{plug.suspended ? "suspended" : "connected"}</small>
                </th>
                <td>
                  {rights.operate && (
                    <div class="buttons">
                      <button type="button" disabled={busy} onClick={() => void suspend(!plug.suspended, side)}>
                        {plug.suspended ? "Resume" : "Suspend"}
                        <span class="unseen"> {endpoints[turn]}</span>
                      </button>
                      <CaptureButton lab={lab} node={nodeOf(endpoints[turn]!)} port={plug.name} />
                    </div>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rights.operate && interfaces.every((plug) => plug !== undefined) && (
        <div class="buttons">
          <button type="button" disabled={busy} onClick={() => void suspend(!interfaces.some((plug) => plug.suspended))}>
            {interfaces.some((plug) => plug.suspended) ? "Resume both" : "Suspend both"}
          </button>
        </div>
      )}
    </aside>
  );
}

/** Key of the node in "r1:eth1". */
function nodeOf(endpoint: string): string {
  return endpoint.split(":", 1)[0]!;
}

/** A side without any is left out: that clears it. */
function present({ a, b }: { readonly a: LinkQuality | undefined; readonly b: LinkQuality | undefined }): LinkQualitySides {
  return { ...(a !== undefined && { a }), ...(b !== undefined && { b }) };
}
