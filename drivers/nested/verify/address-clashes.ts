import { overlap } from './mapped-subnets.ts'

/** A network with its subnets, in CIDR notation. */
export interface Ranges {
  readonly name: string
  readonly cidrs: readonly string[]
}

/** An external network here, and the physical network that it is on; null: none. */
export interface LocalExternalNetwork extends Ranges {
  readonly physicalNetwork: string | null
}

/** An external network of another cloud that is a host here, by the name of a physical network. */
export interface OtherOutside extends Ranges {
  /** Such as `lab-1 of cell lab`. */
  readonly host: string
}

/** An external network of the cloud: `name` is that of a physical network here, `called` its own there. */
export interface RemoteExternalNetwork extends Ranges {
  readonly called: string
}

export interface AddressPlan {
  readonly theirs: readonly RemoteExternalNetwork[]
  /** Networks of guests there that are not ours. */
  readonly tenants: readonly Ranges[]
  readonly ours: readonly LocalExternalNetwork[]
  readonly others: readonly OtherOutside[]
}

/**
 * Where addresses of the cloud and of this one would be in two places, a sentence each, which names both ranges and what to do;
 * none where all fit.
 */
export function addressClashes(plan: AddressPlan): readonly string[] {
  return [
    ...plan.theirs.flatMap((each) => plan.ours.flatMap((ours) => external(each, ours))),
    ...plan.tenants.flatMap((each) => plan.ours.flatMap((ours) => tenant(each, ours))),
    ...plan.theirs.flatMap((each) => plan.others.flatMap((other) => between(each, other))),
  ]
}

function external(theirs: RemoteExternalNetwork, ours: LocalExternalNetwork): readonly string[] {
  if (ours.physicalNetwork === theirs.name) return outside(theirs, ours)
  return pairs(theirs, ours).map(
    ([there, here]) =>
      `External network ${theirs.called} there has ${there}, which overlaps ${here} of external network ${ours.name} here. ` +
      (ours.physicalNetwork === null
        ? 'If they are one network, create it here on a physical network that external_networks maps to it. '
        : `If they are one network, say so: --set external_networks=${ours.physicalNetwork}=${theirs.called}. `) +
      'Otherwise use other addresses for one of them: an address would be in both.',
  )
}

/** Subnets of ours that the network there, which is the same one, lacks. */
function outside(theirs: RemoteExternalNetwork, ours: LocalExternalNetwork): readonly string[] {
  if (theirs.cidrs.length === 0) return []
  return ours.cidrs
    .filter((cidr) => !theirs.cidrs.some((each) => within(cidr, each)))
    .map(
      (cidr) =>
        `External network ${ours.name} here has ${cidr}, which is not within ${theirs.cidrs.join(', ')} of external network ${theirs.called} there, ` +
        `although physical network ${theirs.name} is both. Floating IPs outside are refused for servers there: use addresses of ${theirs.called}, or map another network in external_networks.`,
    )
}

function tenant(theirs: Ranges, ours: LocalExternalNetwork): readonly string[] {
  return pairs(theirs, ours).map(
    ([there, here]) =>
      `Network ${theirs.name} there has ${there}, which overlaps ${here} of external network ${ours.name} here: ` +
      `guests on ${theirs.name} do not reach those addresses outside. Use other addresses for one of them.`,
  )
}

function between(theirs: RemoteExternalNetwork, other: OtherOutside): readonly string[] {
  const isOne = theirs.name === other.name
  const clashes = pairs(theirs, other)
  if (isOne && clashes.length === 0 && theirs.cidrs.length > 0 && other.cidrs.length > 0)
    return [
      `External network ${theirs.called} there has ${theirs.cidrs.join(', ')}, and physical network ${other.name} of host ${other.host} has ${other.cidrs.join(', ')}: ` +
        `they are not one network. Give this one another name: --set external_networks=OTHER=${theirs.called}.`,
    ]
  return clashes.map(
    ([there, here]) =>
      `External network ${theirs.called} there has ${there}, and physical network ${other.name} of host ${other.host} has ${here}: the same addresses in two clouds. ` +
      (isOne
        ? `If they are not one network, give this one another name: --set external_networks=OTHER=${theirs.called}. If they are, let each cloud give out other addresses of it.`
        : `If they are one network, give it one name: --set external_networks=${other.name}=${theirs.called}. Otherwise use other addresses in one of the clouds.`),
  )
}

/** The subnets of both that have addresses in common. */
function pairs(one: Ranges, other: Ranges): readonly (readonly [string, string])[] {
  return one.cidrs.flatMap((a) =>
    other.cidrs.filter((b) => overlap(a, b)).map((b) => [a, b] as const),
  )
}

function within(inner: string, outer: string): boolean {
  const prefix = (cidr: string) => Number(cidr.split('/')[1])
  return overlap(inner, outer) && prefix(inner) >= prefix(outer)
}
