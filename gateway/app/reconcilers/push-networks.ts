import { createHash } from 'node:crypto'
import { workContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import { forEachRow, type Reconciler } from '#common/reconciler.ts'
import { HeldLease } from '#common/saga/lease.ts'
import {
  NETWORK_KINDS,
  type NetworkChanges,
  type NetworkKind,
  type NetworkObjectRef,
  type NetworkState,
} from '#openapi/wire/network.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { networksOfServersIn } from '../../db/cell-networks.ts'
import { abilitiesOfCells } from '../../db/host-list.ts'
import type { ComputeDeps } from '../compute.ts'
import { OVN, ROUTING } from '../networks/engine.ts'
import { MetadataPorts } from '../networks/metadata-ports.ts'
import { networkState } from '../networks/network-state.ts'
import { CellGateways } from '../networks/routers/cell-gateways.ts'

type Deps = Pick<ComputeDeps, 'db' | 'cells' | 'askCell' | 'clock' | 'log'>
type ObjectOf = NetworkState[NetworkKind][number]

/** The capability of a host that serves metadata to its guests. */
const METADATA = 'guestMetadata'
/** A change is a commit, which wakes this reconciler. */
const EVERY_MS = 10_000
/** While some cell has not taken a change. */
const RETRY_MS = 2_000
const LEASE_NAME = 'networks'
const LEASE_TTL_MS = 10_000
/** The interval after which a cell's objects are listed again, in case it lost some unnoticed. */
const LIST_AGAIN_MS = 300_000
/** The most objects in one message, which must be small enough for the bus. */
const OBJECTS_MAX = 200

interface Item {
  readonly kind: NetworkKind
  readonly object: ObjectOf
  readonly digest: string
}

/** The objects that a cell has, by `kind id`, since its last list. */
interface Known {
  readonly objects: Map<string, NetworkObjectRef>
  readonly incarnation: string | undefined
  readonly listedAt: number
}

/**
 * Sends each cell with a network engine, or with hosts that have routers of their own, its wanted objects, after any change. One gateway does this; it first lists the
 * cell's objects, and from then on sends the differences.
 */
export function pushNetworks(deps: Deps, processName: string): Reconciler {
  const { db, cells, clock, log } = deps
  const terms = { name: LEASE_NAME, holder: processName, ttlMs: LEASE_TTL_MS }
  const lease = new HeldLease(db, clock, terms)
  const gateways = new CellGateways({ db, clock, log })
  const known = new Map<CellId, Known>()
  const metadata = new MetadataPorts(deps)
  let isBehind = false
  return {
    name: 'networks of cells',
    get everyMs() {
      return isBehind ? RETRY_MS : EVERY_MS
    },
    round: async (signal) => {
      const abilities = await abilitiesOfCells(db)
      const isAble = (id: CellId, ability: string) => abilities.get(id)?.has(ability) === true
      const hasEngine = (id: CellId) => isAble(id, OVN) || isAble(id, ROUTING)
      const due = cells.cells().filter(({ id, isLost }) => hasEngine(id) && !isLost)
      for (const id of known.keys()) if (!due.some((cell) => cell.id === id)) known.delete(id)
      if (due.length === 0) return { cells: 0 }
      const held = await lease.hold()
      if (held === undefined) {
        known.clear()
        return { holder: 0 }
      }
      isBehind = true
      let changed = await gateways.place()
      let unreachable = 0
      const each = { log, signal, nameOf: ({ name }: Cell) => name }
      const failed = await forEachRow(due, each, async (cell) => {
        if (!cell.isReachable) {
          unreachable += 1
          known.delete(cell.id)
          return
        }
        const reached = await networksOfServersIn(db, cell.id)
        if (isAble(cell.id, METADATA)) await metadata.ensure(reached)
        changed += await push(deps, cell, held.generation, known)
      })
      isBehind = failed + unreachable > 0
      return { holder: 1, cells: due.length, changed }
    },
  }
}

/** Returns the number of objects sent to the cell. After a failed message its objects are listed again. */
async function push(
  deps: Deps,
  cell: Cell,
  generation: number,
  knownOf: Map<CellId, Known>,
): Promise<number> {
  const before = knownOf.get(cell.id)
  const known = isCurrent(deps, cell, before) ? before : await listKnown(deps, cell)
  knownOf.delete(cell.id)
  const items = itemsOf(await networkState(deps.db, cell.id))
  const due = items.filter(
    (item) => known.objects.get(keyOf(item.kind, item.object.id))?.digest !== item.digest,
  )
  const wanted = new Set(items.map(({ kind, object }) => keyOf(kind, object.id)))
  const removed = [...known.objects.values()].filter(({ kind, id }) => !wanted.has(keyOf(kind, id)))
  try {
    for (const changes of messagesOf(due, removed))
      await deps.askCell(cell, 'network.apply', { generation, changes }, { work: workContext({}) })
  } catch (error) {
    // It is sent again in the next round.
    if (!isFailure(error, 'unavailable', 'conflict', 'unsupported')) throw error
    return 0
  }
  for (const { kind, id } of removed) known.objects.delete(keyOf(kind, id))
  for (const { kind, object, digest } of due)
    known.objects.set(keyOf(kind, object.id), { kind, id: object.id, digest })
  knownOf.set(cell.id, known)
  return due.length + removed.length
}

/** False if the cell's database was replaced since, or the list is old. */
function isCurrent(
  { clock }: Deps,
  { incarnation }: Cell,
  known: Known | undefined,
): known is Known {
  if (known === undefined || known.incarnation !== incarnation) return false
  return clock.elapsed() - known.listedAt < LIST_AGAIN_MS
}

async function listKnown({ askCell, clock }: Deps, cell: Cell): Promise<Known> {
  const objects = new Map<string, NetworkObjectRef>()
  const known = { objects, incarnation: cell.incarnation, listedAt: clock.elapsed() }
  let after: { kind: NetworkKind; id: string } | null = null
  for (;;) {
    const page: { objects: NetworkObjectRef[]; isLast: boolean } = await askCell(
      cell,
      'network.list',
      { after },
      { work: workContext({}) },
    )
    for (const each of page.objects) objects.set(keyOf(each.kind, each.id), each)
    const last = page.objects.at(-1)
    if (page.isLast || last === undefined) return known
    after = { kind: last.kind, id: last.id }
  }
}

function itemsOf(state: NetworkState): readonly Item[] {
  return NETWORK_KINDS.flatMap((kind) =>
    (state[kind] as readonly ObjectOf[]).map((object) => ({
      kind,
      object,
      digest: digestOf(object),
    })),
  )
}

/** Objects are put before others are removed, because ports must leave a network before it is removed. */
function messagesOf(
  due: readonly Item[],
  removed: readonly NetworkObjectRef[],
): readonly NetworkChanges[] {
  const messages: NetworkChanges[] = []
  for (let from = 0; from < due.length; from += OBJECTS_MAX) {
    const part = due.slice(from, from + OBJECTS_MAX)
    const byKind = Map.groupBy(part, ({ kind }) => kind)
    const lists = NETWORK_KINDS.map((kind) => [
      kind,
      (byKind.get(kind) ?? []).map(({ object }) => object),
    ])
    const digests = part.map(({ kind, object, digest }) => ({ kind, id: object.id, digest }))
    messages.push({ put: Object.fromEntries(lists) as NetworkState, digests, removed: [] })
  }
  const nothing = Object.fromEntries(
    NETWORK_KINDS.map((kind) => [kind, []]),
  ) as unknown as NetworkState
  const gone = removed.map(({ kind, id }) => ({ kind, id })).toReversed()
  for (let from = 0; from < gone.length; from += OBJECTS_MAX)
    messages.push({ put: nothing, digests: [], removed: gone.slice(from, from + OBJECTS_MAX) })
  return messages
}

function keyOf(kind: NetworkKind, id: string): string {
  return `${kind} ${id}`
}

function digestOf(object: object): string {
  return createHash('sha256').update(JSON.stringify(object)).digest('base64')
}
