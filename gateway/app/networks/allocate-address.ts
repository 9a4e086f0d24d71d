import { randomBytes } from 'node:crypto'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { FixedIp, Subnet } from '../../db/network.ts'
import { firstFreeOffset, lockSubnet, takeAddress } from '../../db/port-addresses.ts'
import { type Cidr, contains, formatIp, parseCidr, parseIp } from './ip.ts'
import { type Pool, poolOf, usableRange } from './pools.ts'

/** Guesses before the subnet counts as crowded: at half full, one boot in sixteen gets that far. */
const GUESSES_MAX = 4
/** Holes found and lost to a guess of someone else before giving up. */
const SEARCHES_MAX = 32

/**
 * Afterwards the port has one free address of the subnet's pools; undefined when they have none left. Safe against
 * any number of others: the row is the claim. Guesses first, so that boots on one subnet do not wait for each other;
 * when guesses fail, searches for a hole, one transaction at a time.
 */
export async function allocateAddress(
  tx: Tx,
  subnet: Subnet,
  portId: string,
): Promise<FixedIp | undefined> {
  const cidr = parseCidr(subnet.cidr, 'cidr')
  const pools = subnet.pools.map((range) => poolOf(cidr, range))
  if (pools.length === 0) return undefined
  const take = (value: bigint) => tryToTake(tx, { subnet, cidr, portId }, value)
  for (let guess = 0; guess < GUESSES_MAX; guess += 1) {
    const taken = await take(randomIn(pools))
    if (taken !== undefined) return taken
  }
  await lockSubnet(tx, subnet.id)
  for (let search = 0; search < SEARCHES_MAX; search += 1) {
    const free = await searchFree(tx, subnet.id, cidr, pools)
    if (free === undefined) return undefined
    const taken = await take(free)
    if (taken !== undefined) return taken
  }
  throw new Failure('unavailable', `Subnet ${subnet.id} is too busy. Please try again.`)
}

/** Afterwards the port has this address. Throws `invalid` outside the subnet, `conflict` when it is taken. */
export async function claimAddress(
  tx: Tx,
  subnet: Subnet,
  portId: string,
  address: string,
): Promise<FixedIp> {
  const value = checkAddress(subnet, address)
  const cidr = parseCidr(subnet.cidr, 'cidr')
  const taken = await tryToTake(tx, { subnet, cidr, portId }, value)
  if (taken !== undefined) return taken
  throw new Failure('conflict', `IP address ${address} already allocated in subnet ${subnet.id}.`)
}

/** The address as a number. Throws `invalid` unless a port of the subnet may have it. */
export function checkAddress(subnet: Subnet, address: string): bigint {
  const cidr = parseCidr(subnet.cidr, 'cidr')
  const ip = parseIp(address, 'ip_address')
  const { first, last } = usableRange(cidr)
  if (contains(cidr, ip) && ip.value >= first && ip.value <= last) return ip.value
  throw new Failure(
    'invalid',
    `IP address ${address} is not a valid IP for the specified subnet ${subnet.id}.`,
  )
}

interface Claim {
  readonly subnet: Subnet
  readonly cidr: Cidr
  readonly portId: string
}

async function tryToTake(tx: Tx, claim: Claim, value: bigint): Promise<FixedIp | undefined> {
  const { subnet, cidr, portId } = claim
  const address = formatIp(cidr.version, value)
  const offset = value - cidr.first
  const isTaken = await takeAddress(tx, { subnetId: subnet.id, offset, address, portId })
  return isTaken ? { subnetId: subnet.id, address } : undefined
}

/** From a random place to the end of its pool, then every pool from its start. */
async function searchFree(
  tx: Tx,
  subnetId: string,
  cidr: Cidr,
  pools: readonly Pool[],
): Promise<bigint | undefined> {
  const start = randomIn(pools)
  const first = pools.find((pool) => start >= pool.first && start <= pool.last)!
  for (const { first: from, last: to } of [{ first: start, last: first.last }, ...pools]) {
    const offset = await firstFreeOffset(tx, subnetId, from - cidr.first, to - cidr.first)
    if (offset !== undefined) return cidr.first + offset
  }
  return undefined
}

/** Uniform over all pools. */
function randomIn(pools: readonly Pool[]): bigint {
  const sizes = pools.map(({ first, last }) => last - first + 1n)
  let left = randomBelow(sizes.reduce((sum, size) => sum + size, 0n))
  for (const [i, size] of sizes.entries()) {
    if (left < size) return pools[i]!.first + left
    left -= size
  }
  throw new Error('A random number was not below its bound')
}

/** The bias of the remainder is below 2^-64: the random number has 64 bits more than the bound needs. */
function randomBelow(bound: bigint): bigint {
  return BigInt(`0x${randomBytes(24).toString('hex')}`) % bound
}
