const units = { delay: "ms", jitter: "ms", loss: "%", bandwidth: "kbit/s" } as const;

/** delay 20 ms, loss 0.5 %; what has no effect is left out. */
export function qualityText(quality: { readonly [Name in keyof typeof units]?: number | undefined }): string {
  return (["delay", "jitter", "loss", "bandwidth"] as const)
    .flatMap((name) => ((quality[name] ?? 0) === 0 ? [] : [`${name} ${quality[name]} ${units[name]}`]))
    .join(", ");
}
