/**
 * Top-level domains that labs get no names in, also if the DNS does not answer: a node `github` in a lab `com` must not take the name of a web site. Domains of
 * two letters are countries.
 */
const domains: ReadonlySet<string> = new Set(
  (
    "academy agency app arpa art biz blog cloud club com company consulting corp design dev digital edu email example finance games gov group guru " +
    "health home host info int internal invalid jobs lan life live llc local localdomain localhost ltd mail media mil mobi museum name net network news onion " +
    "online org page pro school security services shop site social software solutions space store systems team tech technology tools top training " +
    "university vip web website wiki work works world xyz zone"
  ).split(" "),
);

export function isReservedName(domain: string): boolean {
  return /^[a-z]{2}$/i.test(domain) || /^\d+$/.test(domain) || domains.has(domain.toLowerCase());
}
