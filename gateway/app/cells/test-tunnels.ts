import { randomInt } from 'node:crypto'
import pLimit from 'p-limit'
import type { WorkContext } from '#common/context.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { type JoinedHost, joinedHosts, largestTunnelledMtu } from '../../db/cell-networks.ts'
import { recordTunnel } from '../../db/cell-tunnels.ts'
import type { ComputeDeps } from '../compute.ts'

type Deps = Pick<ComputeDeps, 'db' | 'cells' | 'askHost' | 'clock'>

/** One end of a tunnel. */
export interface TunnelEnd {
  readonly cell: string
  readonly host: string
  /** Where its tunnels end. */
  readonly address: string
}

/** What the packets of one host do on their way to another one. */
export interface TunnelTest {
  readonly from: TunnelEnd
  readonly to: TunnelEnd
  readonly result: 'ok' | 'failed' | 'unknown'
  /** Of the largest packets on the network between the hosts. */
  readonly packetBytes: number
  /** A sentence, with what to do if they do not arrive. */
  readonly detail: string
}

/** More hosts of a cell are not tested against another cell: one request must end soon. */
const PAIRS_MAX = 16
const AT_ONCE = 8
const FOR_MS = 4_000
/** Below those of networks (`NETWORK_KEYS`), and more than ovn-northd gives out for networks of its own. */
const TEST_KEYS = { first: 15_900_000, last: 15_999_999 } as const
/** Around the packets of a guest: its Ethernet header, OVN's options, and the headers of Geneve, UDP and IP. */
const AROUND_PACKET = { 4: 58, 6: 78 } as const

/**
 * Lets hosts of the two cells send packets to each other in tunnels, in both directions and at the full size that the
 * networks need. Afterwards the result is known to the choice of cells: a failed test keeps networks apart, and one that
 * succeeds ends that. Empty for a cell without OVN. Throws `invalid` for one cell with itself, `unavailable` if no host of a cell
 * is up.
 */
export async function testTunnels(
  deps: Deps,
  work: WorkContext,
  cells: readonly [Cell, Cell],
  mtuMax: number,
): Promise<readonly TunnelTest[]> {
  const { db, clock } = deps
  const [one, other] = cells
  if (one.id === other.id)
    throw new Failure('invalid', `Cell ${one.name} is tested against another cell. Name one.`)
  const hosts = await joinedHosts(db)
  const mtu = (await largestTunnelledMtu(db)) ?? mtuMax
  const [here, there] = cells.map((cell) => hostsUp(cell, hosts))
  const limit = pLimit(AT_ONCE)
  const tests = await limit.map(pairsOf(here!, there!), (pair) =>
    testPair(deps, work, cells, { hosts: pair, mtu }),
  )
  const all = tests.flat()
  const failed = all.find(({ result }) => result === 'failed')
  if (failed !== undefined || all.some(({ result }) => result === 'ok')) {
    const found = { failure: failed?.detail ?? null, testedAt: new Date(clock.now()) }
    const cellIds = [one.id, other.id] as const
    await db.transaction((tx) => recordTunnel(tx, { cellIds, ...found }))
    await deps.cells.refresh()
  }
  return all
}

/** Empty for a cell without OVN. Throws `unavailable` if its hosts are down. */
function hostsUp({ id, name }: Cell, hosts: readonly JoinedHost[]): readonly JoinedHost[] {
  const own = hosts.filter(({ cellId }) => cellId === id)
  const up = own.filter(({ isUp }) => isUp === 1)
  if (up.length > 0 || own.length === 0) return up
  throw new Failure('unavailable', `No host of cell ${name} is up.`)
}

type Pair = readonly [JoinedHost, JoinedHost]

/** Each host at least once, as far as there may be so many. */
function pairsOf(here: readonly JoinedHost[], there: readonly JoinedHost[]): readonly Pair[] {
  if (here.length === 0 || there.length === 0) return []
  const length = Math.min(Math.max(here.length, there.length), PAIRS_MAX)
  return Array.from({ length }, (_, index) => [
    here[index % here.length]!,
    there[index % there.length]!,
  ])
}

async function testPair(
  { askHost }: Deps,
  work: WorkContext,
  [one, other]: readonly [Cell, Cell],
  { hosts: [here, there], mtu }: { readonly hosts: Pair; readonly mtu: number },
): Promise<readonly TunnelTest[]> {
  const version = here.encapAddress.includes(':') ? 6 : 4
  const packetBytes = mtu + AROUND_PACKET[version]
  const key = randomInt(TEST_KEYS.first, TEST_KEYS.last + 1)
  const ask = (cell: Cell, own: JoinedHost, { encapAddress: peer }: JoinedHost) =>
    askHost(
      cell,
      own.id as HostId,
      'tunnel-test',
      { peer, key, packetBytes, forMs: FOR_MS },
      work,
    ).catch((error: unknown) => {
      if (isFailure(error)) return error
      throw error
    })
  const [atOne, atOther] = await Promise.all([ask(one, here, there), ask(other, there, here)])
  const ends = [endOf(one, here), endOf(other, there)] as const
  const error = [atOne, atOther].find((seen) => seen instanceof Failure)
  return [
    verdict(ends[0], ends[1], packetBytes, error ?? (atOther as Seen)),
    verdict(ends[1], ends[0], packetBytes, error ?? (atOne as Seen)),
  ]
}

function endOf({ name: cell }: Cell, { name: host, encapAddress: address }: JoinedHost): TunnelEnd {
  return { cell, host, address }
}

type Seen = { readonly small: boolean; readonly large: boolean }

/** `seen`: what came to `to`. */
function verdict(
  from: TunnelEnd,
  to: TunnelEnd,
  packetBytes: number,
  seen: Seen | Failure,
): TunnelTest {
  const test = { from, to, packetBytes }
  if (seen instanceof Failure) return { ...test, result: 'unknown', detail: seen.message }
  const [sender, receiver] = [from, to].map(({ host, address }) => `${host} (${address})`)
  const way = `from ${sender} to ${receiver}`
  if (!seen.small)
    return {
      ...test,
      result: 'failed',
      detail: `No packet ${way} arrives. Let UDP port 6081 pass between these addresses in both directions, and check their routes.`,
    }
  if (!seen.large)
    return {
      ...test,
      result: 'failed',
      detail: `Packets of ${packetBytes} bytes ${way} are lost; small ones arrive. Raise the MTU of the network between these hosts to ${packetBytes}, or lower that of the networks on it (openstack network set --mtu; GATEWAY_NETWORK_MTU_MAX).`,
    }
  return { ...test, result: 'ok', detail: `Packets of ${packetBytes} bytes ${way} arrive.` }
}
