import { randomInt } from 'node:crypto'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Network } from '../../db/network.ts'
import { insertNetwork } from '../../db/networks.ts'
import { firstFreePortKey } from '../../db/port-inserts.ts'

/**
 * The keys that a network may have: OVN's are of 24 bits, and ovn-northd gives those below to networks that ask for none.
 * Cells that are joined need the same key for the same network, so that the gateway gives them out.
 */
export const NETWORK_KEYS = { first: 16_000_001, last: 2 ** 24 - 1 } as const

/** The keys of a network's ports: OVN's are of 15 bits. Those below are left to the ports that a cell makes for itself. */
export const PORT_KEYS = { first: 1_001, last: 2 ** 15 - 1 } as const

/** Of 777,215 keys: with a hundred thousand networks the eighth guess is needed once in a million times. */
const TRIES_MAX = 8

/** A key that another network may have. */
export function randomNetworkKey(): number {
  return randomInt(NETWORK_KEYS.first, NETWORK_KEYS.last + 1)
}

/** A key that another port of the network may have. */
export function randomPortKey(): number {
  return randomInt(PORT_KEYS.first, PORT_KEYS.last + 1)
}

/** Afterwards the network exists, with its key or another that was free; returns it. */
export async function insertWithKey(tx: Tx, network: Network): Promise<Network> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const keyed = tries === 1 ? network : { ...network, tunnelKey: randomNetworkKey() }
    if (await insertNetwork(tx, keyed)) return keyed
  }
  throw new Failure('unavailable', 'No free tunnel key was found. Please try again.')
}

/** The lowest key that no port of the network has, as far as is committed. Throws `conflict` when all are taken. */
export async function freePortKey(tx: Tx, networkId: string): Promise<number> {
  const key = await firstFreePortKey(tx, networkId, PORT_KEYS.first)
  if (key <= PORT_KEYS.last) return key
  throw new Failure(
    'conflict',
    `Network ${networkId} has ${PORT_KEYS.last - PORT_KEYS.first + 1} ports, and there is no tunnel key for another.`,
  )
}
