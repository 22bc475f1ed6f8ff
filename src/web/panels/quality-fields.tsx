import type { LinkQuality } from "../../contract/schemas/observe.ts";
import { qualityPresets } from "./quality-presets.ts";

const fields = [
  { name: "delay", label: "Delay", unit: "ms", max: 10_000 },
  { name: "jitter", label: "Jitter", unit: "ms", max: 10_000 },
  { name: "loss", label: "Loss", unit: "%", max: 100 },
  { name: "bandwidth", label: "Bandwidth", unit: "kbit/s", max: 10_000_000 },
] as const;

/** The typed values of a quality; "" for none. */
export type QualityInput = Readonly<Record<(typeof fields)[number]["name"], string>>;

interface QualityFieldsProps {
  readonly legend: string;
  readonly value: QualityInput;
  readonly onChange: (value: QualityInput) => void;
}

/** Form fields for one direction of a link, with presets. Delay and jitter in ms, loss in %, bandwidth in kbit/s. */
export function QualityFields({ legend, value, onChange }: QualityFieldsProps) {
  return (
    <fieldset class="quality-side">
      <legend>{legend}</legend>
      <label>
        Preset
        <select
          value={presetOf(value)}
          onChange={(event) => onChange(toInput(qualityPresets[event.currentTarget.value]))}
          aria-label={`${legend}: preset`}
        >
          <option value="">{presetOf(value) === "" && qualityOf(value) !== undefined ? "custom" : "none"}</option>
          {Object.keys(qualityPresets).map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {fields.map(({ name, label, unit, max }) => (
        <label key={name}>
          {label}
          <input
            type="number"
            min={0}
            max={max}
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

export function toInput(quality: LinkQuality | undefined): QualityInput {
  const text = (value: number | undefined) => (value ? String(value) : "");
  return {
    delay: text(quality?.delay),
    jitter: text(quality?.jitter),
    loss: text(quality?.loss),
    bandwidth: text(quality?.bandwidth),
  };
}

/** Returns the quality of the typed values; undefined without any impairment. */
export function qualityOf(input: QualityInput): LinkQuality | undefined {
  const given = fields.flatMap(({ name }) => (Number(input[name]) > 0 ? [[name, Number(input[name])] as const] : []));
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

function presetOf(input: QualityInput): string {
  const same = Object.entries(qualityPresets).find(([, quality]) => fields.every(({ name }) => input[name] === String(quality[name])));
  return same?.[0] ?? "";
}
