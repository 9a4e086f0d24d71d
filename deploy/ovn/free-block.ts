import ipaddr from 'ipaddr.js'
import { Failure } from '#common/errors.ts'

/** The addresses of the two ends of a link. */
export interface LinkBlock {
  readonly gateway: string
  readonly machine: string
  readonly prefix: number
}

const PREFIX = 30
/** Blocks for documentation (RFC 5737), for benchmarks (RFC 2544) and of links (RFC 3927): some machines use one of them. */
const CANDIDATES = ['192.0.2', '198.51.100', '198.18.0', '169.254.203'] as const

/**
 * The first block of which the machine uses nothing. `routes`: what `ip -4 route show` prints. Throws `conflict` when it
 * uses all of them.
 */
export function freeBlock(routes: string): LinkBlock {
  const used = routes
    .split('\n')
    .flatMap((line) => /^[\d.]+(?:\/\d+)?/.exec(line)?.[0] ?? [])
    .map((block) => ipaddr.IPv4.parseCIDR(block.includes('/') ? block : `${block}/32`))
  const free = CANDIDATES.find((start) => {
    const own = ipaddr.IPv4.parseCIDR(`${start}.0/${PREFIX}`)
    return !used.some((other) => own[0].match(other) || other[0].match(own))
  })
  if (free !== undefined) return { gateway: `${free}.1`, machine: `${free}.2`, prefix: PREFIX }
  throw new Failure(
    'conflict',
    `This machine has routes to ${CANDIDATES.map((start) => `${start}.0/${PREFIX}`).join(', ')}, of which --host-route needs one. Leave it out.`,
  )
}
