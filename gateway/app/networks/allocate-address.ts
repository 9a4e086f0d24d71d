import { randomBytes } from 'node:crypto'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { FixedIp, Subnet } from '../../db/network.ts'
import { firstFreeOffset, lockSubnet, type TakeMode, takeAddress } from '../../db/port-addresses.ts'
import { longestQuarantined } from '../../db/released-addresses.ts'
import { type Cidr, contains, formatIp, parseCidr, parseIp } from './ip.ts'
import { NetworkFailure } from './network-failure.ts'
import { type Pool, poolOf, usableRange } from './pools.ts'

/** Guesses before the subnet counts as crowded: at half full, one boot in sixteen needs more. */
const GUESSES_MAX = 4
/** The most holes examined: each may rest, or be lost to another request. */
const SEARCHES_MAX = 64

/**
 * Afterwards the port has one free address of the subnet's pools; undefined when they have none left. Safe against
 * any number of others: the row is the claim. Guesses first, so that boots on one subnet do not wait for each other;
 * when guesses fail, searches for a hole, one transaction at a time. An address that was given back just now is taken
 * only where no other was found.
 */
export async function allocateAddress(
  tx: Tx,
  subnet: Subnet,
  portId: string,
): Promise<FixedIp | undefined> {
  const cidr = parseCidr(subnet.cidr, 'cidr')
  const pools = subnet.pools.map((range) => poolOf(cidr, range))
  if (pools.length === 0) return undefined
  const claim = { subnet, cidr, portId }
  for (let guess = 0; guess < GUESSES_MAX; guess += 1) {
    const taken = await tryToTake(tx, claim, randomIn(pools), 'rested')
    if (taken !== undefined) return taken
  }
  await lockSubnet(tx, subnet.id)
  return (await takeHole(tx, claim, pools)) ?? (await takeResting(tx, claim, pools))
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
  const taken = await tryToTake(tx, { subnet, cidr, portId }, value, 'any')
  if (taken !== undefined) return taken
  throw new NetworkFailure(
    'conflict',
    'IpAddressAlreadyAllocated',
    `IP address ${address} already allocated in subnet ${subnet.id}.`,
  )
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

async function tryToTake(
  tx: Tx,
  claim: Claim,
  value: bigint,
  mode: TakeMode,
): Promise<FixedIp | undefined> {
  const { subnet, cidr, portId } = claim
  const address = formatIp(cidr.version, value)
  const offset = value - cidr.first
  const isTaken = await takeAddress(tx, { subnetId: subnet.id, offset, address, portId }, mode)
  return isTaken ? { subnetId: subnet.id, address } : undefined
}

/** The first hole that has rested: from a random place to the end of its pool, then in every pool from its start. */
async function takeHole(
  tx: Tx,
  claim: Claim,
  pools: readonly Pool[],
): Promise<FixedIp | undefined> {
  const { subnet, cidr } = claim
  const start = randomIn(pools)
  const { last } = pools.find((pool) => start >= pool.first && start <= pool.last)!
  let searches = 0
  for (const range of [{ first: start, last }, ...pools]) {
    let from = range.first
    while (from <= range.last && searches < SEARCHES_MAX) {
      searches += 1
      const offset = await firstFreeOffset(
        tx,
        subnet.id,
        from - cidr.first,
        range.last - cidr.first,
      )
      if (offset === undefined) break
      const taken = await tryToTake(tx, claim, cidr.first + offset, 'rested')
      if (taken !== undefined) return taken
      from = cidr.first + offset + 1n
    }
  }
  return undefined
}

async function takeResting(
  tx: Tx,
  claim: Claim,
  pools: readonly Pool[],
): Promise<FixedIp | undefined> {
  const { subnet, cidr } = claim
  for (const { first, last } of pools)
    for (let search = 0; search < SEARCHES_MAX; search += 1) {
      const offset = await longestQuarantined(tx, subnet.id, first - cidr.first, last - cidr.first)
      if (offset === undefined) break
      const taken = await tryToTake(tx, claim, cidr.first + offset, 'any')
      if (taken !== undefined) return taken
    }
  return undefined
}

/** Uniform over all pools. */
export function randomIn(pools: readonly Pool[]): bigint {
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
