import type { LinkQuality } from "../../contract/schemas/observe.ts";
import { qualityPresets } from "./quality-presets.ts";

const fields = [
  { name: "delay", label: "Delay", unit: "ms", most: 10_000 },
  { name: "jitter", label: "Jitter", unit: "ms", most: 10_000 },
  { name: "loss", label: "Loss", unit: "%", most: 100 },
  { name: "bandwidth", label: "Bandwidth", unit: "kbit/s", most: 10_000_000 },
] as const;

/** As typed; "" for none. */
export type QualityText = Readonly<Record<(typeof fields)[number]["name"], string>>;

interface QualityFieldsProps {
  readonly legend: string;
  readonly value: QualityText;
  readonly onChange: (value: QualityText) => void;
}

/** One direction of a link, with presets. Delay and jitter in ms, loss in %, bandwidth in kbit/s. */
export function QualityFields({ legend, value, onChange }: QualityFieldsProps) {
  return (
    <fieldset class="quality-side">
      <legend>{legend}</legend>
      <label>
        Preset
        <select
          value={presetOf(value)}
          onChange={(event) => onChange(textOf(qualityPresets[event.currentTarget.value]))}
          aria-label={`${legend}: preset`}
        >
          <option value="">{presetOf(value) === "" && qualityOf(value) !== undefined ? "own values" : "none"}</option>
          {Object.keys(qualityPresets).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {fields.map(({ name, label, unit, most }) => (
        <label key={name}>
          {label}
          <input
            type="number"
            min={0}
            max={most}
            step="any"
            placeholder={name === "bandwidth" ? "unlimited" : "0"}
            value={value[name]}
            onInput={(event) => onChange({ ...value, [name]: event.currentTarget.value })}
          />
          <small>{unit}</small>
        </label>
      ))}
    </fieldset>
  );
}

export function textOf(quality: LinkQuality | undefined): QualityText {
  const word = (value: number | undefined) => (value ? String(value) : "");
  return {
    delay: word(quality?.delay),
    jitter: word(quality?.jitter),
    loss: word(quality?.loss),
    bandwidth: word(quality?.bandwidth),
  };
}

/** undefined where nothing is impaired. */
export function qualityOf(text: QualityText): LinkQuality | undefined {
  const given = fields.flatMap(({ name }) => (Number(text[name]) > 0 ? [[name, Number(text[name])] as const] : []));
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

function presetOf(text: QualityText): string {
  const same = Object.entries(qualityPresets).find(([, quality]) => fields.every(({ name }) => text[name] === String(quality[name])));
  return same?.[0] ?? "";
}
