import { Failure } from '#common/errors.ts'
import type { AddressRange } from '../../db/network.ts'
import { type Cidr, contains, formatIp, type Ip, parseIp } from './ip.ts'

export interface Pool {
  readonly first: bigint
  readonly last: bigint
}

/** The addresses of a subnet a port may have at all. */
export function usableRange(cidr: Cidr): Pool {
  const isPointToPoint = cidr.last - cidr.first < 2n
  if (isPointToPoint) return { first: cidr.first, last: cidr.last }
  // The first is the network itself (IPv6: the subnet-router anycast), the last of IPv4 is broadcast.
  return { first: cidr.first + 1n, last: cidr.version === 4 ? cidr.last - 1n : cidr.last }
}

/** Everything usable but the gateway. */
export function defaultPools(cidr: Cidr, gateway: Ip | null): readonly AddressRange[] {
  const { first, last } = usableRange(cidr)
  if (gateway === null || gateway.value < first || gateway.value > last)
    return rangesOf(cidr, [{ first, last }])
  return rangesOf(cidr, [
    { first, last: gateway.value - 1n },
    { first: gateway.value + 1n, last },
  ])
}

/** Pools as given, ascending. Throws `invalid` outside the subnet, `conflict` where two overlap or hold the gateway. */
export function checkedPools(
  cidr: Cidr,
  gateway: Ip | null,
  given: readonly AddressRange[],
): readonly AddressRange[] {
  const pools = given
    .map((range) => poolOf(cidr, range))
    .sort((a, b) => (a.first < b.first ? -1 : 1))
  pools.forEach((pool, i) => {
    const next = pools[i + 1]
    if (next !== undefined && next.first <= pool.last)
      throw new Failure(
        'conflict',
        `Found overlapping allocation pools: ${text(cidr, pool)} and ${text(cidr, next)}.`,
      )
    if (gateway !== null && gateway.value >= pool.first && gateway.value <= pool.last)
      throw new Failure(
        'conflict',
        `Gateway ip ${formatIp(cidr.version, gateway.value)} conflicts with allocation pool ${text(cidr, pool)}.`,
      )
  })
  return rangesOf(cidr, pools)
}

/** A stored pool as numbers. */
export function poolOf(cidr: Cidr, range: AddressRange): Pool {
  const start = parseIp(range.start, 'allocation_pools')
  const end = parseIp(range.end, 'allocation_pools')
  const usable = usableRange(cidr)
  const isInside = [start, end].every(
    (ip) => contains(cidr, ip) && ip.value >= usable.first && ip.value <= usable.last,
  )
  if (!isInside)
    throw new Failure(
      'invalid',
      `The allocation pool ${range.start}-${range.end} spans beyond the subnet cidr.`,
    )
  if (end.value < start.value)
    throw new Failure('invalid', `The allocation pool ${range.start}-${range.end} is not valid.`)
  return { first: start.value, last: end.value }
}

function rangesOf(cidr: Cidr, pools: readonly Pool[]): readonly AddressRange[] {
  return pools
    .filter(({ first, last }) => first <= last)
    .map(({ first, last }) => ({
      start: formatIp(cidr.version, first),
      end: formatIp(cidr.version, last),
    }))
}

function text(cidr: Cidr, pool: Pool): string {
  return `${formatIp(cidr.version, pool.first)}-${formatIp(cidr.version, pool.last)}`
}
