import { quoted } from "./systemd-unit.ts";

/** The user of the unit without labs. */
export const apiUser = "labwright-api";

/**
 * Returns the systemd unit of a machine of a fleet that runs no labs (`--host none`). It has no privilege and sees almost nothing of the machine. Left out, because the
 * service needs it: MemoryDenyWriteExecute (V8 writes code), ProcSubset=pid (the load and the memory of the machine are read from /proc), PrivateNetwork and
 * IPAddressDeny (it listens, and reaches the database and the other machines). Type=exec and not notify: see `systemdUnit`.
 */
export function apiUnit(command: readonly string[]): string {
  return `[Unit]
Description=Labwright without labs, a machine of a fleet that only answers calls
After=network-online.target
Wants=network-online.target
# A database that is away for long does not end the attempts.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${command.map(quoted).join(" ")}
# Reads the certificate again.
ExecReload=/bin/kill -HUP $MAINPID
Environment=LABWRIGHT_HOST=none LABWRIGHT_STATE_DIR=/var/lib/labwright-api
# LABWRIGHT_STORE, LABWRIGHT_ADVERTISE and so on.
EnvironmentFile=-/etc/default/labwright-api
User=${apiUser}
StateDirectory=labwright-api
StateDirectoryMode=0700
Restart=on-failure
RestartSec=2
TimeoutStopSec=60
LimitNOFILE=1048576
UMask=0077
CapabilityBoundingSet=
NoNewPrivileges=yes
DevicePolicy=closed
LockPersonality=yes
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
# AF_NETLINK: the addresses of the machine, for its certificate.
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources

[Install]
WantedBy=multi-user.target
`;
}
