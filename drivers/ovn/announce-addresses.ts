import { dirname, join } from 'node:path'
import { type Clock, systemClock } from '#common/clock.ts'
import { Failure } from '#common/errors.ts'
import { createLogger, type Logger } from '#common/log.ts'
import type { AddressAnnouncer, AnnouncedAddress } from '../address-announcer.ts'
import { INTEGRATION_BRIDGE, OVS_DATABASE } from './integration-bridge.ts'
import { localnetName } from './northbound/switches.ts'
import { OpenFlowBridge } from './openflow.ts'
import { OvsdbDatabase } from './ovsdb/database.ts'
import { textOf, type ValueMap } from './ovsdb/values.ts'

export interface AnnouncerOptions {
  /** The address of the host's Open vSwitch, as its tools write it: `unix:PATH`. */
  readonly address: string
  readonly clock: Clock
  readonly log: Logger
}

/** Where a frame enters a bridge of the site as one from the integration bridge. */
interface Entry {
  readonly bridge: string
  readonly port: number
}

const PROTOCOL = 'unix:'
/** By which ovn-controller(8) marks both ends of its link between the integration bridge and a bridge of the site. */
const LOCALNET = 'ovn-localnet-port'
/** Pauses between announcements: a frame may be lost, or overtaken by one that the former host has sent. */
const PAUSES_MS = [50, 100, 250, 500]

/** Of Ethernet, without the checksum. */
const FRAME_BYTES_MIN = 60

/** The announcer of the Open vSwitch at this address, or of the one where Debian has it. */
export function ovsAnnouncer(address = OVS_DATABASE, logger?: Logger): AddressAnnouncer {
  const log = logger ?? createLogger('ovs', 'silent')
  const options = { address, clock: systemClock, log }
  return { announce: (addresses, signal) => announceAddresses(options, addresses, signal) }
}

/**
 * Sends gratuitous ARP requests into the bridges of the site, as ovn-controller does a second after it has an address.
 * Afterwards each has been sent several times. Throws as `AddressAnnouncer.announce`.
 */
export async function announceAddresses(
  options: AnnouncerOptions,
  addresses: readonly AnnouncedAddress[],
  signal: AbortSignal,
): Promise<void> {
  const { address, clock } = options
  if (!address.startsWith(PROTOCOL))
    throw new Failure(
      'unsupported',
      `Open vSwitch at ${address} is on another machine: addresses are announced by a unix socket only.`,
    )
  const entries = await entriesOf(options)
  const frames = addresses.flatMap((each) => {
    const entry = entries.get(localnetName(each.networkId))
    return entry === undefined ? [] : [{ ...entry, frame: announcementOf(each) }]
  })
  const folder = dirname(address.slice(PROTOCOL.length))
  const byBridge = Map.groupBy(frames, ({ bridge }) => bridge)
  using opened = new DisposableStack()
  const bridges: [OpenFlowBridge, typeof frames][] = []
  for (const [name, own] of byBridge)
    bridges.push([opened.use(await OpenFlowBridge.open(join(folder, `${name}.mgmt`))), own])
  for (const pauseMs of [0, ...PAUSES_MS]) {
    if (pauseMs > 0) await clock.sleep(pauseMs, signal)
    for (const [bridge, own] of bridges) {
      for (const { frame, port } of own) bridge.receiveFrame(frame, port)
      await bridge.settled()
    }
  }
}

/** By the `localnet` port of the network. */
async function entriesOf({
  address,
  clock,
  log,
}: AnnouncerOptions): Promise<ReadonlyMap<string, Entry>> {
  await using database = await OvsdbDatabase.open({
    ...{ address, clock, log },
    name: 'Open_vSwitch',
    tables: {
      Bridge: ['name', 'ports'],
      Port: ['interfaces', 'external_ids'],
      Interface: ['ofport'],
    },
  })
  const ports = database.table('Port')
  const entries = [...database.table('Bridge').values()].flatMap((row) => {
    const bridge = textOf(row, 'name')
    if (bridge === INTEGRATION_BRIDGE) return []
    return (row['ports'] as readonly string[]).flatMap((uuid): [string, Entry][] => {
      const own = ports.get(uuid)
      const localnet = (own?.['external_ids'] as ValueMap | undefined)?.[LOCALNET]
      const [link = ''] = (own?.['interfaces'] ?? []) as readonly string[]
      const port = Number(database.table('Interface').get(link)?.['ofport'] ?? -1)
      return localnet === undefined || port < 1 ? [] : [[String(localnet), { bridge, port }]]
    })
  })
  return new Map(entries)
}

/** An ARP request of the address for itself (RFC 5227, section 1.1). */
export function announcementOf({ address, mac, vlan }: AnnouncedAddress): Buffer {
  const sender = Buffer.from(mac.replaceAll(':', ''), 'hex')
  const ip = Buffer.from(address.split('.').map(Number))
  // Priority 0, and the VLAN (IEEE 802.1Q).
  const tag = vlan === null ? [] : [0x81, 0x00, vlan >> 8, vlan & 0xff]
  const head = Buffer.concat([Buffer.alloc(6, 0xff), sender, Buffer.from([...tag, 0x08, 0x06])])
  const request = Buffer.from([0, 1, 0x08, 0x00, 6, 4, 0, 1])
  const frame = Buffer.concat([head, request, sender, ip, Buffer.alloc(6), ip])
  return Buffer.concat([frame, Buffer.alloc(Math.max(0, FRAME_BYTES_MIN - frame.length))])
}
