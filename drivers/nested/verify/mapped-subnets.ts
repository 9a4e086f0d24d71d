import { BlockList, isIPv6 } from 'node:net'

/** A network of ours that the operator says is one there, with its subnets in CIDR notation. */
export interface LocalNetwork {
  readonly id: string
  readonly name: string
  readonly cidrs: readonly string[]
}

/** The same, with what it is there. */
export interface MappedNetwork extends LocalNetwork {
  readonly there: { readonly id: string; readonly name: string; readonly cidrs: readonly string[] }
}

/**
 * Why servers of these networks could not be on those there, a sentence each; none where each has the subnets of ours.
 * Addresses are chosen here, so two of ours that overlap cannot be one network there.
 */
export function subnetProblems(mapped: readonly MappedNetwork[]): readonly string[] {
  return [...mapped.flatMap(lacking), ...mapped.flatMap((each, at) => shared(each, mapped, at))]
}

function lacking({ name, cidrs, there }: MappedNetwork): readonly string[] {
  return cidrs
    .filter((cidr) => !there.cidrs.includes(cidr))
    .map((cidr) => {
      const has = there.cidrs.map((each) =>
        overlap(each, cidr) ? `${each}, which overlaps it` : each,
      )
      return (
        `Network ${name} here has subnet ${cidr}, which network ${there.name} there lacks; it has ` +
        `${has.join(', ') || 'none'}. Give ${there.name} the same subnets, or map ${name} to a network that has them.`
      )
    })
}

function shared(one: MappedNetwork, all: readonly MappedNetwork[], at: number): readonly string[] {
  return all.slice(at + 1).flatMap((other) => {
    const both = one.cidrs.find((cidr) => other.cidrs.some((each) => overlap(each, cidr)))
    if (other.there.id !== one.there.id || both === undefined) return []
    return [
      `Networks ${one.name} and ${other.name} here both have addresses of ${both}, and are mapped to one network there, ` +
        `${one.there.name}. Map one of them to another network.`,
    ]
  })
}

/** Of two CIDRs either one holds the other, or they have nothing in common. */
export function overlap(a: string, b: string): boolean {
  return holds(a, b) || holds(b, a)
}

function holds(cidr: string, other: string): boolean {
  const [address = '', prefix = ''] = cidr.split('/')
  const [first = ''] = other.split('/')
  const family = (text: string) => (isIPv6(text) ? 'ipv6' : 'ipv4')
  const block = new BlockList()
  block.addSubnet(address, Number(prefix), family(address))
  return block.check(first, family(first))
}
