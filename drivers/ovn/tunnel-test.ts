import { dirname, join } from 'node:path'
import { type Clock, systemClock } from '#common/clock.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { createLogger, type Logger } from '#common/log.ts'
import type { ReceivedProbes, TunnelQuestion, Tunnels } from '../tunnels.ts'
import { INTEGRATION_BRIDGE, OVS_DATABASE } from './integration-bridge.ts'
import { type FrameMatch, OpenFlowBridge } from './openflow.ts'
import { type Operation, OvsdbDatabase } from './ovsdb/database.ts'
import { type Row, textOf, type ValueMap } from './ovsdb/values.ts'

export interface TunnelTestOptions {
  /** The address of the host's Open vSwitch, as its tools write it: `unix:PATH`. */
  readonly address: string
  readonly clock: Clock
  readonly log: Logger
}

const PROTOCOL = 'unix:'
/** For experiments within a site (IEEE 802, local experimental EtherType 1). */
const FRAME_TYPE = 0x88b5
/** By the last byte of the destination. */
const KINDS = { small: 1, large: 2, done: 3 } as const
type Kind = keyof typeof KINDS
const SMALL_FRAME_BYTES = 60
/** Headers around a frame in a tunnel without options: those of Geneve, of UDP and of IP. */
const AROUND_FRAME = { 4: 36, 6: 56 } as const
const SEND_EVERY_MS = 50
/** How often a host that is done says so: the other one then need not wait until the end. */
const DONE_REPEATS = 3
const READY_MS = 3_000
const TUNNEL_PORT = 1
/** By which bridges of tests are found again that a process left when it was killed. */
const OWN = 'weir-tunnel-test'

/** The tunnels of the Open vSwitch at this address, or of the one where Debian has it. */
export function ovsTunnels(address = OVS_DATABASE, logger?: Logger): Tunnels {
  const log = logger ?? createLogger('ovs', 'silent')
  const options = { address, clock: systemClock, log }
  return { test: (question, signal) => testTunnel(options, question, signal) }
}

/** Bridges of tests of this process. */
const running = new Set<string>()

/**
 * Sends frames to the other host in a tunnel of its own, and says which of its frames came. Needs that host to do the
 * same at the same time. Afterwards nothing of the test is left. Throws `unsupported` for an Open vSwitch on another
 * machine, `unavailable` for one that does not answer or makes no tunnel.
 */
export async function testTunnel(
  { address, clock, log }: TunnelTestOptions,
  question: TunnelQuestion,
  signal: AbortSignal,
): Promise<ReceivedProbes> {
  if (!address.startsWith(PROTOCOL))
    throw new Failure(
      'unsupported',
      `Open vSwitch at ${address} is on another machine: tunnels are tested by a unix socket only.`,
    )
  await using database = await OvsdbDatabase.open({
    ...{ address, clock, log },
    name: 'Open_vSwitch',
    tables: {
      Open_vSwitch: ['bridges'],
      Bridge: ['name', 'datapath_type', 'external_ids'],
      Interface: ['name', 'ofport', 'error'],
    },
  })
  const name = `weir${question.key.toString(16)}`
  running.add(name)
  try {
    await addBridge(database, name, question, signal)
    await portReady(database, portOf(name), signal)
    const path = join(dirname(address.slice(PROTOCOL.length)), `${name}.mgmt`)
    using bridge = await openWhenThere(path, clock, signal)
    return await exchange(bridge, clock, question, signal)
  } finally {
    running.delete(name)
    await removeBridges(database)
  }
}

const portOf = (bridge: string) => `${bridge}t`

async function addBridge(
  database: OvsdbDatabase,
  name: string,
  { peer, key }: TunnelQuestion,
  signal: AbortSignal,
): Promise<void> {
  const own = [...database.table('Bridge').values()].find(
    (row) => row['name'] === INTEGRATION_BRIDGE,
  )
  const [[uuid] = []] = database.table('Open_vSwitch')
  if (own === undefined || uuid === undefined)
    throw new Failure(
      'unavailable',
      `Open vSwitch has no bridge ${INTEGRATION_BRIDGE}. Start ovn-controller on this host.`,
    )
  await removeBridges(database)
  const options = { remote_ip: peer, key: String(key), csum: 'true' }
  await database.transact(
    [
      insert('Interface', 'interface', {
        ...{ name: portOf(name), type: 'geneve', ofport_request: TUNNEL_PORT },
        options: map(options),
      }),
      insert('Port', 'port', { name: portOf(name), interfaces: ['named-uuid', 'interface'] }),
      insert('Bridge', 'bridge', {
        ...{ name, datapath_type: textOf(own, 'datapath_type'), fail_mode: 'secure' },
        external_ids: map({ [OWN]: 'true' }),
        ports: ['named-uuid', 'port'],
      }),
      bridges(uuid, 'insert', ['named-uuid', 'bridge']),
    ],
    signal,
  )
}

/** Afterwards no bridge of a test is there, but those of tests that run. */
async function removeBridges(database: OvsdbDatabase): Promise<void> {
  const [[uuid] = []] = database.table('Open_vSwitch')
  const left = [...database.table('Bridge')].filter(
    ([, row]) => isOfTest(row) && !running.has(textOf(row, 'name')),
  )
  if (uuid === undefined || left.length === 0) return
  await database.transact(left.map(([bridge]) => bridges(uuid, 'delete', ['uuid', bridge])))
}

function isOfTest(row: Row): boolean {
  return (row['external_ids'] as ValueMap)[OWN] !== undefined
}

async function portReady(
  database: OvsdbDatabase,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const port = () => [...database.table('Interface').values()].find((row) => row['name'] === name)
  const error = () => textOf(port(), 'error')
  const isThere = () => Number(port()?.['ofport'] ?? -1) === TUNNEL_PORT || error() !== ''
  const limit = AbortSignal.any([signal, AbortSignal.timeout(READY_MS)])
  await database.until(isThere, limit).catch(() => signal.throwIfAborted())
  if (error() !== '' || !isThere())
    throw new Failure(
      'unavailable',
      `Open vSwitch made no tunnel: ${error() || 'it did not answer'}.`,
    )
}

/** Open vSwitch makes the socket of a bridge a moment after its ports. */
async function openWhenThere(
  path: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<OpenFlowBridge> {
  for (const end = clock.elapsed() + READY_MS; ; await clock.sleep(SEND_EVERY_MS)) {
    try {
      signal.throwIfAborted()
      return await OpenFlowBridge.open(path)
    } catch (error) {
      if (!isFailure(error, 'unavailable') || clock.elapsed() > end) throw error
    }
  }
}

async function exchange(
  bridge: OpenFlowBridge,
  clock: Clock,
  { peer, packetBytes, forMs }: TunnelQuestion,
  signal: AbortSignal,
): Promise<ReceivedProbes> {
  for (const kind of Object.keys(KINDS) as Kind[]) bridge.countFrames(matchOf(kind))
  const around = AROUND_FRAME[peer.includes(':') ? 6 : 4]
  const send = (kind: Kind, bytes = SMALL_FRAME_BYTES) =>
    bridge.sendFrame(frameOf(kind, bytes), TUNNEL_PORT)
  const came = async (kind: Kind) => (await bridge.framesCounted(matchOf(kind))) > 0n
  let seen: ReceivedProbes = { small: false, large: false }
  for (const end = clock.elapsed() + forMs; clock.elapsed() < end; ) {
    signal.throwIfAborted()
    const isAll = seen.small && seen.large
    if (isAll) send('done')
    send('small')
    send('large', packetBytes - around)
    if (isAll && (await came('done'))) {
      for (let repeat = 1; repeat < DONE_REPEATS; repeat += 1) {
        await clock.sleep(SEND_EVERY_MS)
        send('done')
      }
      return seen
    }
    await clock.sleep(SEND_EVERY_MS)
    seen = { small: await came('small'), large: await came('large') }
  }
  return seen
}

function matchOf(kind: Kind): FrameMatch {
  return { destination: addressOf(KINDS[kind]), type: FRAME_TYPE }
}

function frameOf(kind: Kind, bytes: number): Buffer {
  const frame = Buffer.alloc(bytes)
  addressOf(KINDS[kind]).copy(frame, 0)
  addressOf(0).copy(frame, 6)
  frame.writeUInt16BE(FRAME_TYPE, 12)
  return frame
}

/** The second bit of the first byte marks an address that no maker of NICs assigned. */
function addressOf(last: number): Buffer {
  return Buffer.from([0x02, 0x77, 0x65, 0x69, 0x72, last])
}

function insert(table: string, name: string, row: Readonly<Record<string, unknown>>): Operation {
  return { op: 'insert', table, 'uuid-name': name, row }
}

function bridges(
  uuid: string,
  how: 'insert' | 'delete',
  bridge: readonly [string, string],
): Operation {
  const where = [['_uuid', '==', ['uuid', uuid]]]
  const mutations = [['bridges', how, ['set', [bridge]]]]
  return { op: 'mutate', table: 'Open_vSwitch', where, mutations }
}

function map(entries: Readonly<Record<string, string>>) {
  return ['map', Object.entries(entries)]
}
