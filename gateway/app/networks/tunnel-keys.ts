import { randomInt } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Network } from '../../db/network.ts'
import { defaultExternalNetwork, insertNetwork } from '../../db/networks.ts'
import { firstFreePortKey } from '../../db/port-inserts.ts'
import { NetworkFailure } from './network-failure.ts'
import { NETWORK_KEYS, providerTaken } from './provider.ts'

/** The keys of a network's ports: OVN's are of 15 bits. Those below are left to the ports that a cell makes for itself. */
export const PORT_KEYS = { first: 1_001, last: 2 ** 15 - 1 } as const

/** Of 777,215 keys: with a hundred thousand networks the eighth guess is needed once in a million times. */
const TRIES_MAX = 8
/** Whose next keys are remembered. */
const NETWORKS_MAX = 10_000

/** A key that another network may have. */
export function randomNetworkKey(): number {
  return randomInt(NETWORK_KEYS.first, NETWORK_KEYS.last + 1)
}

/** A key that another port of the network may have. */
export function randomPortKey(): number {
  return randomInt(PORT_KEYS.first, PORT_KEYS.last + 1)
}

/**
 * Keys for ports that are made without a look at which are free: one after the other from a random one, so that they
 * rarely meet those of other ports, also on a network with many.
 */
export class PortKeys {
  readonly #next = new LRUCache<string, number>({ max: NETWORKS_MAX })

  /** A key that another port of the network may have. */
  next(networkId: string): number {
    const key = this.#next.get(networkId) ?? randomPortKey()
    this.#next.set(networkId, key === PORT_KEYS.last ? PORT_KEYS.first : key + 1)
    return key
  }

  /** Afterwards the next keys are others, because other ports seem to have these. */
  jump(networkId: string): void {
    this.#next.delete(networkId)
  }
}

/**
 * Afterwards the network exists, with its key or another that was free; returns it. Throws `conflict` when another
 * network has its VLAN, or the key where a request chose it.
 */
export async function insertWithKey(
  tx: Tx,
  network: Network,
  isKeyChosen = false,
): Promise<Network> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const keyed = tries === 1 ? network : { ...network, tunnelKey: randomNetworkKey() }
    const outcome = await insertNetwork(tx, keyed)
    if (outcome === 'inserted') return keyed
    if (outcome === 'default-taken') throw await defaultExists(tx)
    if (outcome === 'vlan-taken' || isKeyChosen) throw providerTaken(network)
  }
  throw new Failure('unavailable', 'No free tunnel key was found. Please try again.')
}

/** The failure for a second default external network. */
export async function defaultExists(tx: Tx): Promise<NetworkFailure> {
  const other = await defaultExternalNetwork(tx)
  return new NetworkFailure(
    'conflict',
    'DefaultExternalNetworkExists',
    `A default external network already exists: ${other?.id}.`,
  )
}

/** The lowest key that no port of the network has, as far as is committed. Throws `conflict` when all are taken. */
export async function freePortKey(tx: Tx, networkId: string): Promise<number> {
  const key = await firstFreePortKey(tx, networkId, PORT_KEYS.first)
  if (key <= PORT_KEYS.last) return key
  throw new Failure(
    'conflict',
    `Network ${networkId} has ${PORT_KEYS.last - PORT_KEYS.first + 1} ports, the most that a network can have.`,
  )
}
