/**
 * Returns the systemd unit of the service. Labs are processes of the unit and outlive the service. Therefore the unit must not kill them (KillMode), must
 * let them have cgroups (Delegate), and must not hide the machine from them (no PrivateTmp, no ProtectSystem). Restrictions of system calls, of privileges or of
 * address families are left out, too: the nodes would inherit them. `apiUnit` has them, for a machine without labs.
 *
 * Type=exec and not notify: Node cannot send to the socket of systemd (datagrams to a Unix socket), and the program systemd-notify would need
 * NotifyAccess=all, with which nodes could report for the service. `GET /api/v1/health` shows that it is ready.
 */
export function systemdUnit(command: readonly string[]): string {
  return `[Unit]
Description=Labwright, network labs as YAML
After=network-online.target
Wants=network-online.target

[Service]
Type=exec
ExecStart=${command.map(quoted).join(" ")}
# Reads the certificate again.
ExecReload=/bin/kill -HUP $MAINPID
EnvironmentFile=-/etc/default/labwright
# Labs run on while the service restarts.
KillMode=process
Delegate=yes
# A node that eats memory ends alone.
OOMPolicy=continue
Restart=on-failure
RestartSec=2
# A change that runs gets 10 s to end; what is left of it is finished after the next start.
TimeoutStopSec=60
LimitNOFILE=1048576
TasksMax=infinity

[Install]
WantedBy=multi-user.target
`;
}

/** Quotes an argument for ExecStart, so that systemd replaces no specifiers and variables in it. */
export function quoted(word: string): string {
  const literal = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w@+:,./=%$-]+$/.test(literal)
    ? literal
    : `"${literal.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}
