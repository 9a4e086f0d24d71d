import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NatsConnection } from '@nats-io/transport-node'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { instanceView } from '#cells/conductor/instance.ts'
import { queueFeedRow } from '#cells/db/feed.ts'
import { instancePage, updateSeenInstance } from '#cells/db/instances.ts'
import { connectBus } from '#common/bus/connect.ts'
import { Database } from '#common/db/database.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { innerSubject } from '#openapi/wire.ts'
import { cpuSeconds } from '../proc.ts'
import { GLOBAL_DATABASE, type Product } from '../product.ts'
import type { AddedCell } from './add-cells.ts'

/** What each process uses of one core while servers change at a steady rate, and no request is sent. */
export interface FeedFigures {
  readonly changesPerSecond: number
  readonly cpuPercent: Readonly<Record<string, number>>
}

const RATES = [10, 100] as const
const WATCH_S = 10
/** So that those who change servers take few of the connections that MariaDB has for all cells. */
const CELLS_MAX = 10
const LIMIT_MS = 30_000

/**
 * Servers change in their cells as if their hosts had reported it: each change is a commit of the cell's own with its row
 * of the feed, written from here. So the gateway's part is what it takes to hear of a change, and no more.
 */
export async function measureFeed(
  product: Product,
  cells: readonly AddedCell[],
  processes: Readonly<Record<string, ProcessIdentity>>,
): Promise<readonly FeedFigures[]> {
  await using owned = new AsyncDisposableStack()
  const changers: Changer[] = []
  for (const cell of cells.slice(0, CELLS_MAX)) changers.push(await changerOf(owned, product, cell))
  const figures: FeedFigures[] = []
  for (const changesPerSecond of RATES) {
    const before = Object.values(processes).map((each) => cpuSeconds([each]))
    const last = await change(changers, changesPerSecond)
    const cpuPercent = Object.fromEntries(
      Object.entries(processes).map(([name, each], place) => {
        return [name, ((cpuSeconds([each]) - before[place]!) * 100) / WATCH_S]
      }),
    )
    await untilShown(product, last)
    figures.push({ changesPerSecond, cpuPercent })
  }
  return figures
}

interface Change {
  readonly serverId: string
  readonly version: number
}

/** Makes the next server of a cell change. */
type Changer = () => Promise<Change>

async function changerOf(
  owned: AsyncDisposableStack,
  { nats }: Product,
  { id, databaseUrlFile, credentialsFile }: AddedCell,
): Promise<Changer> {
  const url = readFileSync(databaseUrlFile, 'utf8')
  const db = owned.use(new Database({ url, connectionsMax: 1 }))
  const log = createLogger('bench', 'error')
  const bus: NatsConnection = await connectBus(
    { url: nats.url, credentialsFile, name: 'bench' },
    log,
  )
  owned.defer(() => bus.close())
  const servers = [...(await instancePage(db, '', RATES.at(-1)! * WATCH_S))]
  let next = 0
  return async () => {
    const place = next % servers.length
    next += 1
    const seen = servers[place]!
    const to = { ...seen, version: seen.version + 1 }
    servers[place] = to
    await db.transaction(async (tx) => {
      if (!(await updateSeenInstance(tx, seen, { to })))
        throw new Error(`${seen.id} has changed by itself`)
      queueFeedRow(tx, [{ kind: 'instance', view: instanceView(to) }])
    })
    bus.publish(innerSubject(id, 'feed-changed'))
    return { serverId: to.id, version: to.version }
  }
}

/** One after the other, of each cell in turns; returns the last. */
async function change(changers: readonly Changer[], perSecond: number): Promise<Change> {
  const startedAt = performance.now()
  const changes: Promise<Change>[] = []
  for (let nth = 0; nth < perSecond * WATCH_S; nth += 1) {
    await sleep(Math.max(0, startedAt + (nth * 1_000) / perSecond - performance.now()))
    changes.push(changers[nth % changers.length]!())
  }
  return (await Promise.all(changes)).at(-1)!
}

/** Afterwards the gateway shows the change, and so all before it in the same cell. */
async function untilShown({ mariadb }: Product, { serverId, version }: Change): Promise<void> {
  const connection = await createConnection({ uri: mariadb.rootUrl(GLOBAL_DATABASE) })
  const query = 'select version from server_index where server_id = ?'
  const isShown = async () => {
    const [rows] = await connection.query<RowDataPacket[]>(query, [serverId])
    return Number(rows[0]?.['version']) >= version
  }
  try {
    await waitFor('the last change to be shown', isShown, LIMIT_MS)
  } finally {
    await connection.end()
  }
}
