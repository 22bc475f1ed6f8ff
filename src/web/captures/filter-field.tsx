interface FilterFieldProps {
  readonly value: string;
  /** The filter of the shown packets. */
  readonly applied: string;
  readonly error: string | undefined;
  readonly onInput: (text: string) => void;
  readonly onApply: (text: string) => void;
}

const suggestions = [
  "arp",
  "icmp",
  "ospf",
  "bgp",
  "isis",
  "dns",
  "dhcp",
  "tcp",
  "udp",
  "stp",
  "ip.addr == 10.0.0.1",
  "tcp.port == 179",
  "tcp.analysis.flags",
  "icmp && frame.number > 100",
];

/** An input for a display filter, which Enter applies. The error of a refused filter is shown below it. */
export function FilterField({ value, applied, error, onInput, onApply }: FilterFieldProps) {
  return (
    <form
      class="filter-field"
      onSubmit={(event) => {
        event.preventDefault();
        onApply(value);
      }}
    >
      <label class="visually-hidden" for="display-filter">
        Display filter
      </label>
      <input
        id="display-filter"
        class={error !== undefined ? "wrong" : applied !== "" && applied === value.trim() ? "applied" : undefined}
        value={value}
        placeholder="Display filter, as in Wireshark: icmp or ip.addr == 10.0.0.1"
        list="display-filters"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={error !== undefined}
        aria-describedby={error === undefined ? undefined : "display-filter-error"}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <datalist id="display-filters">
        {suggestions.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <button type="submit">Filter</button>
      {applied !== "" && (
        <button type="button" onClick={() => onApply("")}>
          Show all packets
        </button>
      )}
      {error !== undefined && (
        <p id="display-filter-error" class="filter-error" role="alert">
          {error}
        </p>
      )}
    </form>
  );
}
