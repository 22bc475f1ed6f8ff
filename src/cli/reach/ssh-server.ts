import { keysName } from "./public-keys.ts";

/**
 * Serves one SSH connection on its standard input and output. The first argument is the name of the file of allowed keys, the second its text. A host key is made
 * at the first connection and stays on the node's disk. Two connections may begin at the same time: each file appears complete, and only once.
 */
const script = `set -e
umask 077
PATH=$PATH:/usr/sbin:/sbin
sshd=$(command -v sshd) || { echo "this node has no sshd: use labwright shell" >&2; exit 127; }
mkdir -p /run/sshd /run/labwright-ssh /etc/ssh
keys=/run/labwright-ssh/$1
host=/etc/ssh/ssh_host_ed25519_key
if [ ! -e "$keys" ]; then
  printf '%s\\n' "$2" > "$keys.$$"
  mv "$keys.$$" "$keys"
fi
if [ ! -e "$host" ]; then
  ssh-keygen -q -t ed25519 -N '' -C "$(hostname)" -f "$host.$$"
  ln "$host.$$" "$host" 2> /dev/null && mv "$host.$$.pub" "$host.pub"
  rm -f "$host.$$" "$host.$$.pub"
fi
exec "$sshd" -i -e -o LogLevel=ERROR -o HostKey="$host" -o AuthorizedKeysFile="$keys" -o PermitRootLogin=prohibit-password \\
  -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no -o UsePAM=no`;

/** Returns the program that serves one SSH connection of the owner of these public keys in a node. */
export function sshServer(keys: readonly string[]): readonly string[] {
  return ["sh", "-c", script, "sh", keysName(keys), keys.join("\n")];
}
