import { LRUCache } from 'lru-cache'
import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import type { FixedIp, Subnet } from '../../db/network.ts'
import { occupiedOffsets } from '../../db/port-addresses.ts'
import { randomIn } from './allocate-address.ts'
import { formatIp, parseCidr } from './ip.ts'
import { poolOf } from './pools.ts'

/** The addresses examined by one read: a single boot pays for all of them, many simultaneous boots for a fraction each. */
const CANDIDATES_MAX = 64
/** Other boots take addresses in the meantime, and each lost address costs a boot a second try. */
const FRESH_MS = 10_000
const SUBNETS_MAX = 1_000

/** An address, and its distance from the subnet's first. */
export interface FreeAddress extends FixedIp {
  readonly offset: bigint
}

interface Known {
  readonly addresses: FreeAddress[]
  readonly readAt: number
}

/**
 * Addresses of subnets that were free a moment ago, each given out once. Only a port's row takes an address: these
 * are the addresses to try first, so that a boot needs no answer before its commit.
 */
export class FreeAddresses {
  readonly #clock: Clock
  readonly #known = new LRUCache<string, Known>({ max: SUBNETS_MAX })
  readonly #refilling = new Map<string, Promise<void>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** So many addresses of the subnet's pools; undefined where they were not found at once. */
  async take(
    db: Executor,
    subnet: Subnet,
    count: number,
  ): Promise<readonly FreeAddress[] | undefined> {
    if (count > CANDIDATES_MAX) return undefined
    // Another pool is another place to look.
    const key = `${subnet.id} ${subnet.revision}`
    const before = this.#takeKnown(key, count)
    if (before !== undefined) return before
    const refilling = this.#refilling.get(key) ?? this.#refill(db, subnet, key)
    this.#refilling.set(key, refilling)
    await refilling
    return this.#takeKnown(key, count)
  }

  #takeKnown(key: string, count: number): readonly FreeAddress[] | undefined {
    const known = this.#known.get(key)
    if (known === undefined || this.#clock.elapsed() - known.readAt > FRESH_MS) return undefined
    return known.addresses.length < count ? undefined : known.addresses.splice(0, count)
  }

  async #refill(db: Executor, subnet: Subnet, key: string): Promise<void> {
    try {
      const readAt = this.#clock.elapsed()
      const cidr = parseCidr(subnet.cidr, 'cidr')
      const pools = subnet.pools.map((range) => poolOf(cidr, range))
      if (pools.length === 0) return
      const values = new Set(Array.from({ length: CANDIDATES_MAX }, () => randomIn(pools)))
      const offsets = [...values].map((value) => value - cidr.first)
      const occupied = await occupiedOffsets(db, subnet.id, offsets)
      const addresses = offsets
        .filter((offset) => !occupied.has(offset))
        .map((offset) => {
          const address = formatIp(cidr.version, cidr.first + offset)
          return { subnetId: subnet.id, offset, address }
        })
      this.#known.set(key, { addresses, readAt })
    } finally {
      this.#refilling.delete(key)
    }
  }
}
