import { useState } from "preact/hooks";
import type { InspectedInterface, InspectedLink, LinkQualitySides } from "../../contract/schemas/observe.ts";
import type { LabRights } from "../labs/lab-rights.ts";
import { lazy } from "../parts/lazy.tsx";
import { Problem } from "../parts/problem.tsx";
import { useFeature } from "../parts/use-feature.ts";
import { sameQuality, sideText } from "../topology/graph/quality-text.ts";
import { LinkInterfaces } from "./link-interfaces.tsx";
import { QualityFields, type QualityInput, qualityOf, toInput } from "./quality-fields.tsx";
import { type LinkChanges, useLinkChanges } from "./use-link-changes.ts";

const LinkLive = lazy(() => import("../links/link-live.tsx"));

interface LinkPanelProps {
  readonly lab: string;
  readonly link: InspectedLink;
  /** The interface at each end; undefined for a network. */
  readonly interfaces: readonly (InspectedInterface | undefined)[];
  readonly rights: LabRights;
  readonly onClose: () => void;
  /** Called after a change of the link. */
  readonly onChanged: () => void;
}

/** Shows one link: its effective quality, its traffic, a form to set the quality of each direction, and its two interfaces. */
export function LinkPanel({ lab, link, interfaces, rights, onClose, onChanged }: LinkPanelProps) {
  const [a = "", b = ""] = link.endpoints;
  const endpoints = [a, b] as const;
  const changes = useLinkChanges(lab, endpoints, onChanged);
  const { data: traffic } = useFeature("traffic");
  const inEffect = changes.effective ?? link.quality ?? link.stored_quality ?? {};
  const declared = link.stored_quality ?? {};
  const isLiveOnly = link.quality !== undefined && !sameQuality(inEffect, declared);
  /** The form is reset when the declared values are set again. */
  const [form, setForm] = useState({ key: 0, quality: link.quality ?? declared });
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
        <dd>{sideText(inEffect.a ?? {}) || "no impairment"}</dd>
        <dt>{b} →</dt>
        <dd>{sideText(inEffect.b ?? {}) || "no impairment"}</dd>
      </dl>
      {isLiveOnly && (
        <div class="buttons">
          <span class="mark warn">live only, not in the text</span>
          {rights.operate && (
            <button
              type="button"
              disabled={changes.busy !== undefined}
              onClick={() => {
                setForm(({ key }) => ({ key: key + 1, quality: declared }));
                changes.setQuality({ a: declared.a, b: declared.b }, false);
              }}
            >
              Back to the declared values
            </button>
          )}
        </div>
      )}
      {traffic === true && <LinkLive lab={lab} link={link.key} endpoints={endpoints} />}
      {rights.operate && <h3>Set</h3>}
      {rights.operate && (
        <QualityForm key={form.key} quality={form.quality} endpoints={endpoints} changes={changes} maySave={rights.edit} />
      )}
      {changes.error !== undefined && <Problem error={changes.error} />}
      <h3>Interfaces</h3>
      <LinkInterfaces lab={lab} endpoints={endpoints} interfaces={interfaces} changes={changes} mayOperate={rights.operate} />
    </aside>
  );
}

interface QualityFormProps {
  /** The first values of the fields. */
  readonly quality: LinkQualitySides;
  readonly endpoints: readonly [string, string];
  readonly changes: LinkChanges;
  readonly maySave: boolean;
}

function QualityForm({ quality, endpoints: [a, b], changes, maySave }: QualityFormProps) {
  const { busy, notice, setQuality } = changes;
  const [input, setInput] = useState(() => ({ a: toInput(quality.a), b: toInput(quality.b) }));
  const [save, setSave] = useState(false);
  const apply = (wanted: { readonly a: QualityInput; readonly b: QualityInput }) =>
    setQuality({ a: qualityOf(wanted.a), b: qualityOf(wanted.b) }, save);
  const clear = () => {
    const none = { a: toInput(undefined), b: toInput(undefined) };
    setInput(none);
    apply(none);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        apply(input);
      }}
    >
      <QualityFields legend={`Packets leaving ${a}`} value={input.a} onChange={(value) => setInput((all) => ({ ...all, a: value }))} />
      <QualityFields legend={`Packets leaving ${b}`} value={input.b} onChange={(value) => setInput((all) => ({ ...all, b: value }))} />
      <div class="buttons">
        <button type="button" onClick={() => setInput(({ a: same }) => ({ a: same, b: same }))}>
          Same for both
        </button>
      </div>
      {maySave && (
        <label class="choice">
          <input type="checkbox" checked={save} onChange={(event) => setSave(event.currentTarget.checked)} />
          Save to the intent, too
        </label>
      )}
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy !== undefined}>
          Apply
        </button>
        <button type="button" onClick={clear} disabled={busy !== undefined}>
          Clear
        </button>
        <output>{busy ?? notice}</output>
      </div>
    </form>
  );
}
