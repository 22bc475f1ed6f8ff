import { expect, test } from "vitest";
import { maskText, secretsIn } from "./secret-words.ts";

test.each([
  ["password\n  hunter2\nhostname r1\n", "password\n  (sensitive)\nhostname r1\n"],
  ["password:\r\n\r\n  hunter2\r\nend", "password:\r\n\r\n  (sensitive)\r\nend"],
  ["  secret: |\n    hunter2\n", "  secret: (sensitive)\n    (sensitive)\n"],
  ["key:\n  hunter2\n", "key:\n  (sensitive)\n"],
  ["set pskhunter2", "set psk(sensitive)"],
  ["set psksecret hunter2", "set psk(sensitive)"],
  ["set psk hunter2", "set psk (sensitive)"],
  ["Authorization: Bearer hunter2", "Authorization: (sensitive)"],
  ["curl -H 'authorization: Basic hunter2' http://x", "curl -H 'authorization: (sensitive)"],
  ["enable secret hunter2\r\nend\r\n", "enable secret (sensitive)\r\nend\r\n"],
  ["enable secret a\rhunter2", "enable secret (sensitive)"],
  ["Bearer hunter2", "Bearer (sensitive)"],
])("%j is masked", (text, masked) => {
  expect(maskText(text)).toBe(masked);
});

test.each(["hostname r1\ninterface e0\n", "crypto key\nhostname r1", "keyboard us\n", "authorize all"])("%j stays", (text) => {
  expect(maskText(text)).toBe(text);
});

const secret = "hunter2";

test.each([
  // Delimiters and other forms of the words.
  `"password": "${secret}"`,
  `{"user":"a","password":"${secret}"}`,
  `<password>${secret}</password>`,
  ...[..."[|>;,/.'({`@#"].map((delimiter) => `password${delimiter}${secret}`),
  `passwords: ${secret}`,
  `mypassword ${secret}`,
  `my_password=${secret}`,
  `password_hash: ${secret}`,
  `passwordHash=${secret}`,
  `secret-id = ${secret}`,
  `pass-phrase ${secret}`,
  `pass_word ${secret}`,
  `PASSCODE: ${secret}`,
  `client_secrets: [${secret}]`,
  `apikey=${secret}`,
  `api_key: ${secret}`,
  `privateKey: ${secret}`,
  `DB_PWD=${secret}`,
  // Line ends other than the line feed, and blanks other than the space.
  ...["\r", "\f", "\v", "\u2028", "\u2029", "\u0085", "\u00a0", "\u2003", "\ufeff"].flatMap((end) => [
    `password${end}${secret}`,
    `password: x${end}${secret}`,
    `hostname r1${end}password ${secret}`,
    `password${end}\n${secret}`,
  ]),
  // Secrets of several lines.
  `password:\n  - first\n  - ${secret}`,
  `secret: |-\n  first\n\n  ${secret}\nend`,
  `"passwords": [\n  "x",\n  "${secret}"\n]`,
  `<password>\n${secret}\n</password>`,
  `-----BEGIN RSA PRIVATE KEY-----\nMIIEpA\n${secret}\n-----END RSA PRIVATE KEY-----`,
  // Cisco IOS, IOS XR, NX-OS.
  `enable secret 5 ${secret}`,
  `no enable secret ${secret}`,
  `username a privilege 15 secret 9 ${secret}`,
  ` password 7 ${secret}`,
  `snmp-server community ${secret} RO`,
  `snmp-server host 10.0.0.1 version 2c ${secret}`,
  `snmp-server user u g v3 auth sha ${secret} priv aes 128 x`,
  `crypto isakmp key ${secret} address 10.0.0.1`,
  ` pre-shared-key local ${secret}`,
  ` key 12345`,
  ` key-string 7 ${secret}`,
  ` ip ospf message-digest-key 1 md5 ${secret}`,
  ` ip ospf authentication-key ${secret}`,
  `ntp authentication-key 1 md5 ${secret}`,
  ` neighbor 10.0.0.1 password ${secret}`,
  ` ppp chap password 0 ${secret}`,
  ` standby 1 authentication ${secret}`,
  ` vrrp 1 authentication text ${secret}`,
  ` isis password ${secret} level-2`,
  `tacacs-server host 10.0.0.1 key ${secret}`,
  `radius-server host 10.0.0.1 auth-port 1812 key 7 ${secret}`,
  `snmp-server user admin network-admin auth md5 ${secret} priv 0x1 localizedkey`,
  `copy ftp://admin:${secret}@10.0.0.9/c startup-config`,
  // Junos, EOS, FRR.
  `set system root-authentication encrypted-password "$6$${secret}"`,
  `    pre-shared-key ascii-text "${secret}"; ## SECRET-DATA`,
  `    authentication-key "${secret}"; ## SECRET-DATA`,
  `set snmp community ${secret} authorization read-only`,
  `username admin role network-admin secret sha512 ${secret}`,
  ` ip rip authentication string ${secret}`,
  ` area 0 authentication message-digest-key 1 md5 ${secret}`,
  // MikroTik, Fortinet, cloud-init.
  `/ppp secret add name=u password=${secret} service=any`,
  `set [ find default=yes ] wpa2-pre-shared-key=${secret}`,
  `    set passwd ENC ${secret}`,
  `    set psksecret ENC ${secret}`,
  `    set auth-pwd ENC ${secret}`,
  `    set private-key "-----BEGIN ENCRYPTED PRIVATE KEY-----\nx\n${secret}\n-----END ENCRYPTED PRIVATE KEY-----"`,
  `chpasswd:\n  list: |\n    root:${secret}\n    user:x`,
  `    hashed_passwd: ${secret}`,
  `    plain_text_passwd: '${secret}'`,
  `root:$6$salt$${secret}:19000`,
  `echo 'root:${secret}' | chpasswd`,
  `sshpass -p ${secret} ssh r1`,
  `curl -u admin:${secret} http://10.0.0.1`,
])("no secret is left of %j", (text) => {
  expect(maskText(text)).not.toMatch(/hunter2|12345/);
  expect(secretsIn(text).join("\n")).toMatch(/hunter2|12345/);
});

test.each([
  // Cisco IOS, IOS XR, NX-OS, EOS, FRR.
  "service password-encryption",
  "no service password-recovery",
  "security passwords min-length 10",
  "password encryption aes",
  "no password strength-check",
  "aaa authentication login default group tacacs+ local",
  "aaa authorization exec default group tacacs+ local",
  "aaa authorization serial-console",
  " authorization exec default",
  "no password\nline vty 0 4\n login local\n transport input ssh",
  "no enable secret\nend",
  "line con 0\n logging synchronous",
  "interface GigabitEthernet0/0/0.100\n encapsulation dot1Q 100\n ip address 10.0.0.1 255.255.255.0\n passive-interface default",
  "interface TokenRing0/1\n ring-speed 16",
  "key chain OSPF-KEYS\n key 1",
  "key chain BGP tcp",
  " ip ospf authentication message-digest",
  " ip authentication key-chain eigrp 100 KEYS",
  "ntp trusted-key 1",
  "ntp server 10.0.0.1 key 1 prefer",
  "crypto key generate rsa modulus 2048",
  "crypto isakmp policy 10\n hash md5\n authentication pre-share\n group 14",
  "crypto ipsec transform-set T esp-aes esp-md5-hmac",
  " neighbor 10.0.0.2 send-community both",
  " neighbor 10.0.0.2 send-community",
  " match community CUSTOMERS exact-match",
  " set community 65000:100 65000:200 additive",
  "ip community-list standard CUSTOMERS permit 65000:1",
  "ip bgp-community new-format",
  "spanning-tree mode mstp\nvlan 10\n name users",
  "errdisable recovery cause psecure-violation",
  // Junos, MikroTik, Fortinet, cloud-init.
  "set policy-options community CUST members 65000:1",
  "    community CUST members [ 65000:1 65000:2 ];",
  "            authorization read-only;",
  "set protocols ospf area 0.0.0.0 interface ge-0/0/0.0",
  "/ip address add address=10.0.0.1/24 interface=ether1",
  "/ip firewall filter add chain=input action=accept protocol=tcp dst-port=22",
  'config system interface\n    edit "port1"\n        set ip 10.0.0.1 255.255.255.0',
  "config system password-policy\n    set status enable",
  "    set type password\n    set status enable",
  "#cloud-config\nhostname: r1\nssh_pwauth: true\npackages:\n  - frr\nruncmd:\n  - [sysctl, -w, net.ipv4.ip_forward=1]",
  "    shell: /bin/bash\n    sudo: false",
  "ip bypass 10.0.0.1\nmonkey see\nsecretary x\nauthor: ann",
])("%j stays readable", (text) => {
  expect(maskText(text)).toBe(text);
  expect(secretsIn(text)).toEqual([]);
});

test("the time to mask a text grows with its length, for texts that repeat any part of the rules", () => {
  const parts = [
    "password",
    "password ",
    "key chain x ",
    "key ",
    "community 1:1",
    "community 1:1 ",
    "a-",
    "_",
    "-u ",
    "://a:",
    "auth sha ",
    "pass-",
    "token-id",
    "$6$",
  ];
  for (const part of [...parts, "snmp-server host ", "<", "key\u0085", " ", "\n", "password\n", "-----BEGIN ", "no "]) {
    const started = performance.now();
    maskText(part.repeat(200_000 / part.length));
    maskText(`${part.repeat(200_000 / part.length)}x`);
    expect(performance.now() - started, JSON.stringify(part)).toBeLessThan(5_000);
  }
});
