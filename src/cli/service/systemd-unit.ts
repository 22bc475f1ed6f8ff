/**
 * The unit by which systemd runs the service. Labs are children of the service's unit and outlive it, so that unit must neither kill them
 * with it (KillMode) nor keep their cgroups from them (Delegate); and it must not hide the machine from them: no PrivateTmp, no ProtectSystem.
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

/** As systemd reads a word of ExecStart: specifiers and variables of its own are none of ours. */
function quoted(word: string): string {
  const literal = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w@+:,./=%$-]+$/.test(literal)
    ? literal
    : `"${literal.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}
