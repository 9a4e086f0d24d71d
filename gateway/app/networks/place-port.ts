import { randomBytes } from 'node:crypto'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { GENERATED_MAC_PREFIX } from '#common/mac-address.ts'
import { isMachineMac } from '../../db/machine-nics.ts'
import type { FixedIp, Port, Subnet, UnplacedPort } from '../../db/network.ts'
import { holdNetwork, insertPort, queueGroupBindings } from '../../db/port-inserts.ts'
import { allocateAddress, claimAddress } from './allocate-address.ts'
import { eui64Address } from './ip.ts'
import { NetworkFailure } from './network-failure.ts'
import { charge } from './quotas.ts'
import { NO_PROJECT } from './service-ports.ts'
import { isAutoAddressed } from './subnet-addressing.ts'
import { freePortKey, randomPortKey } from './tunnel-keys.ts'

/** A requested address of a port: this one, or any of the subnet; null: any. */
export interface AddressRequest {
  readonly subnet: Subnet
  readonly address: string | null
}

export interface PortDraft extends UnplacedPort {
  /** Null: a free address with the prefix of this cloud. */
  readonly macAddress: string | null
  /** Undefined: the usual ones. */
  readonly requests: readonly AddressRequest[] | undefined
  /** The network's subnets, oldest first. */
  readonly subnets: readonly Subnet[]
}

/** Guesses at 24 random bits: with a hundred thousand ports the eighth is needed once in 10^17. */
const TRIES_MAX = 8

/**
 * Afterwards the port exists with its addresses and groups and is counted. Throws `not-found` when the network went
 * meanwhile, `conflict` for an address or MAC that is taken or when addresses have run out, `over-quota`.
 */
export async function placePort(tx: Tx, draft: PortDraft): Promise<Port> {
  const { requests, subnets: _subnets, macAddress, ...port } = draft
  if (!(await holdNetwork(tx, draft.networkId)))
    throw new Failure('not-found', `Network ${draft.networkId} could not be found.`)
  const placed = await insertWithKeys(tx, port, macAddress)
  const fixedIps =
    requests === undefined
      ? await defaultAddresses(tx, draft, placed)
      : await allocateRequested(tx, placed, requests)
  queueGroupBindings(tx, draft.id, draft.securityGroupIds)
  if (draft.projectId !== NO_PROJECT) await charge(tx, draft.projectId, 'port')
  return { ...placed, fixedIps, floatingIps: [] }
}

/** Afterwards the port has every requested address. */
export async function allocateRequested(
  tx: Tx,
  port: Pick<Port, 'id' | 'networkId' | 'macAddress'>,
  requests: readonly AddressRequest[],
): Promise<readonly FixedIp[]> {
  const fixedIps: FixedIp[] = []
  for (const { subnet, address } of requests) {
    const fixedIp =
      address === null
        ? await addressOn(tx, subnet, port)
        : await claimAddress(tx, subnet, port.id, address)
    if (fixedIp === undefined) throw exhausted(port.networkId)
    fixedIps.push(fixedIp)
  }
  return fixedIps
}

/** One address per IP version, and one on every subnet whose guests configure their addresses themselves. */
async function defaultAddresses(
  tx: Tx,
  { subnets }: PortDraft,
  port: Placed,
): Promise<readonly FixedIp[]> {
  const fixedIps: FixedIp[] = []
  for (const version of [4, 6] as const) {
    const candidates = subnets.filter((subnet) => {
      return subnet.ipVersion === version && !isAutoAddressed(subnet)
    })
    if (candidates.length > 0) fixedIps.push(await anyAddress(tx, port, candidates))
  }
  for (const subnet of subnets.filter(isAutoAddressed))
    fixedIps.push(await claimAddress(tx, subnet, port.id, eui64Address(subnet, port.macAddress)))
  return fixedIps
}

type Placed = Pick<Port, 'id' | 'networkId' | 'macAddress'>

function addressOn(tx: Tx, subnet: Subnet, port: Placed): Promise<FixedIp | undefined> {
  if (!isAutoAddressed(subnet)) return allocateAddress(tx, subnet, port.id)
  return claimAddress(tx, subnet, port.id, eui64Address(subnet, port.macAddress))
}

async function anyAddress(tx: Tx, port: Placed, candidates: readonly Subnet[]): Promise<FixedIp> {
  for (const subnet of candidates) {
    const fixedIp = await allocateAddress(tx, subnet, port.id)
    if (fixedIp !== undefined) return fixedIp
  }
  throw exhausted(port.networkId)
}

/** Neutron's IpAddressGenerationFailure. */
function exhausted(networkId: string): Failure {
  return new NetworkFailure(
    'conflict',
    'IpAddressGenerationFailure',
    `No more IP addresses available on network ${networkId}.`,
  )
}

async function insertWithKeys(
  tx: Tx,
  port: UnplacedPort,
  wanted: string | null,
): Promise<Omit<Port, 'fixedIps' | 'floatingIps'>> {
  if (wanted !== null && (await isMachineMac(tx, wanted))) throw macInUse(port, wanted)
  let tunnelKey = randomPortKey()
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const placed = { ...port, tunnelKey, macAddress: wanted ?? newMacAddress() }
    const outcome = await insertPort(tx, placed)
    if (outcome === 'inserted') return placed
    if (outcome === 'key-taken') tunnelKey = await freePortKey(tx, port.networkId)
    else if (wanted !== null) throw macInUse(port, wanted)
  }
  throw new Failure('unavailable', 'No free MAC address or tunnel key was found. Please try again.')
}

/** Neutron's MacAddressInUse. */
function macInUse({ networkId }: UnplacedPort, macAddress: string): Failure {
  return new NetworkFailure(
    'conflict',
    'MacAddressInUse',
    `Unable to complete operation for network ${networkId}. The mac address ${macAddress} is in use.`,
  )
}

export function newMacAddress(): string {
  const tail = [...randomBytes(3)].map((byte) => byte.toString(16).padStart(2, '0'))
  return [GENERATED_MAC_PREFIX, ...tail].join(':')
}
