const units = { delay: "ms", jitter: "ms", loss: "%", bandwidth: "kbit/s" } as const;

/** Formats a link quality: delay 20 ms, loss 0.5 %. Values without effect are left out. */
export function qualityText(quality: { readonly [Name in keyof typeof units]?: number | undefined }): string {
  return (["delay", "jitter", "loss", "bandwidth"] as const)
    .flatMap((name) => ((quality[name] ?? 0) === 0 ? [] : [`${name} ${quality[name]} ${units[name]}`]))
    .join(", ");
}
