import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import {
  allocationsOf,
  lockSubnetPool,
  type PoolAllocation,
  type SubnetPool,
} from '../../db/subnet-pools.ts'
import { type Cidr, formatIp, overlaps, parseCidr } from './ip.ts'
import { NetworkFailure } from './network-failure.ts'
import { poolNotFound } from './subnet-pools.ts'

/** The requested prefix of a pool. */
export interface PrefixRequest {
  readonly projectId: string
  /** This prefix; undefined: any. */
  readonly cidr: string | undefined
  /** Undefined: the pool's default. */
  readonly length: number | undefined
}

/**
 * A prefix of the pool that no subnet has; nothing else takes of the pool until the transaction ends. Throws `invalid` for a length that
 * the pool does not give out, `conflict` where it has no room, `over-quota` where the project has its share.
 */
export async function allocatePrefix(
  tx: Tx,
  poolId: string,
  request: PrefixRequest,
): Promise<string> {
  const pool = await lockSubnetPool(tx, poolId)
  if (pool === undefined) throw poolNotFound(poolId)
  const taken = await allocationsOf(tx, poolId)
  const wanted = request.cidr === undefined ? undefined : parseCidr(request.cidr, 'cidr')
  const length = wanted?.prefix ?? request.length ?? pool.defaultLength
  refuseLength(pool, length)
  refuseShare(pool, taken, request.projectId, length)
  const found = wanted === undefined ? freePrefix(pool, taken, length) : freeAt(pool, taken, wanted)
  if (found !== undefined) return found
  // Neutron answers 500 here, which would blame the service.
  throw new NetworkFailure(
    'conflict',
    'SubnetAllocationError',
    wanted === undefined
      ? `Failed to allocate subnet: Insufficient prefix space to allocate subnet size /${length}.`
      : 'Failed to allocate subnet: Cannot allocate requested subnet from the available set of prefixes.',
  )
}

/** The lowest prefix of this length within the pool that overlaps nothing taken. */
export function freePrefix(
  { prefixes }: Pick<SubnetPool, 'prefixes'>,
  taken: readonly Pick<PoolAllocation, 'cidr'>[],
  length: number,
): string | undefined {
  const used = taken
    .map(({ cidr }) => parseCidr(cidr, 'cidr'))
    .toSorted((a, b) => (a.first < b.first ? -1 : 1))
  for (const range of joined(prefixes)) {
    const size = 1n << BigInt((range.version === 4 ? 32 : 128) - length)
    let first = aligned(range.first, size)
    for (const each of used)
      if (each.last >= first && each.first < first + size) first = aligned(each.last + 1n, size)
    if (first + size - 1n <= range.last) return `${formatIp(range.version, first)}/${length}`
  }
  return undefined
}

type Range = Pick<Cidr, 'version' | 'first' | 'last'>

/** Adjacent prefixes are one range: a subnet may span them. */
function joined(prefixes: readonly string[]): readonly Range[] {
  const ranges: Range[] = []
  for (const text of prefixes) {
    const { version, first, last } = parseCidr(text, 'prefixes')
    const before = ranges.at(-1)
    if (before !== undefined && before.last + 1n === first)
      ranges[ranges.length - 1] = { ...before, last }
    else ranges.push({ version, first, last })
  }
  return ranges
}

function aligned(value: bigint, size: bigint): bigint {
  return ((value + size - 1n) / size) * size
}

function freeAt(
  { prefixes }: SubnetPool,
  taken: readonly PoolAllocation[],
  wanted: Cidr,
): string | undefined {
  const isInside = joined(prefixes).some(({ version, first, last }) => {
    return version === wanted.version && first <= wanted.first && wanted.last <= last
  })
  const isTaken = taken.some(({ cidr }) => overlaps(parseCidr(cidr, 'cidr'), wanted))
  if (!isInside || isTaken) return undefined
  return `${formatIp(wanted.version, wanted.first)}/${wanted.prefix}`
}

function refuseLength({ minLength, maxLength }: SubnetPool, length: number): void {
  const wrong =
    length < minLength
      ? ['MinPrefixSubnetAllocationError', `minimum allowed prefix is ${minLength}`]
      : length > maxLength
        ? ['MaxPrefixSubnetAllocationError', `maximum allowed prefix is ${maxLength}`]
        : undefined
  if (wrong !== undefined)
    throw new NetworkFailure(
      'invalid',
      wrong[0]!,
      `Unable to allocate subnet with prefix length ${length}, ${wrong[1]}.`,
    )
}

function refuseShare(
  { projectQuota, ipVersion }: SubnetPool,
  taken: readonly PoolAllocation[],
  projectId: string,
  length: number,
): void {
  if (projectQuota === null) return
  // Neutron's units: addresses of IPv4, prefixes of 64 bits of IPv6.
  const unit = ipVersion === 4 ? 32 : 64
  const own = taken.filter((each) => each.projectId === projectId)
  const lengths = [...own.map(({ cidr }) => parseCidr(cidr, 'cidr').prefix), length]
  const used = lengths.reduce((sum, each) => sum + 2 ** (unit - each), 0)
  if (used > projectQuota)
    throw new Failure('over-quota', 'Per-project subnet pool prefix quota exceeded.')
}
