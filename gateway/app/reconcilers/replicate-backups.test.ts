import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database, Executor } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { ormThrough } from '#test/env/orm-through.ts'
import { images } from '../../db/schema/image.ts'
import { putProtection } from '../../db/server-protections.ts'
import { putReplica } from '../../db/server-replicas.ts'
import { sampleCell } from '../cells/testing.ts'
import { replicateBackups } from './replicate-backups.ts'

// Goal: a round costs the database two short statements for each replica, and a few for all of them together.

const PROJECT = 'p'.repeat(32)
/** Of the due replicas, the cells and their tunnels, the newest backups, and what these were made with. */
const LISTS = 5
/** Images are read so many at a time. */
const IMAGES_AT_A_TIME = 16

let db: Database
let home: CellId
let away: CellId

beforeAll(async () => {
  db = await globalDatabase('replicate_backups')
  home = await addCell(db, 'home')
  away = await addCell(db, 'away')
})
afterAll(() => db?.[Symbol.asyncDispose]())

/** A protected server with two backups; returns the id of the newer. */
async function protectedServer(): Promise<string> {
  const serverId = await addServer(db, home)
  const schedule = { everyS: 3_600, keep: 2, toCellId: away }
  await db.transaction(async (tx) => {
    const userId = 'u'.repeat(32)
    await putProtection(tx, { serverId, projectId: PROJECT, userId, ...schedule })
    await putReplica(tx, serverId, away)
  })
  const properties = { instance_uuid: serverId, image_type: 'backup' }
  const content = { sizeBytes: 8, virtualSizeBytes: 8, md5: '', sha512: '', sha256: 'a'.repeat(64) }
  const limits = { minDiskGb: 0, minRamMb: 0, isProtected: false, isHidden: false }
  const about = { status: 'active', visibility: 'private', owner: PROJECT, diskFormat: 'qcow2' }
  const of = (ms: number) => ({
    ...{ id: randomUUID(), properties, ...content, ...limits, ...about, revision: 1 },
    ...{ createdAt: new Date(ms), updatedAt: new Date(ms) },
  })
  const [older, newer] = [of(1_000), of(2_000)]
  await db.orm.insert(images).values([older, newer])
  return newer.id
}

/** The database, and how many statements were run on it. */
function counted() {
  const seen = { statements: 0 }
  const count = <T>(_text: string, work: () => Promise<T>) => {
    seen.statements += 1
    return work()
  }
  const counting: Pick<Executor, 'orm' | 'run' | 'rows'> = {
    orm: ormThrough(db.orm, count),
    run: (...args) => count('', () => db.run(...args)),
    rows: <Row>(...args: Parameters<Executor['rows']>) => count('', () => db.rows<Row>(...args)),
  }
  return { seen, counting }
}

test.each([[10], [100]])('a round of %i replicas', async (count) => {
  const newest = await Promise.all(Array.from({ length: count }, () => protectedServer()))
  const pinned: string[] = []
  const { seen, counting } = counted()
  const known = { ...sampleCell('away'), id: away }
  const reconciler = replicateBackups({
    db: counting,
    cells: { cell: (id: string) => (id === away ? known : undefined) },
    imageTicket: () => 'ticket',
    askCell: async (_cell: unknown, _operation: string, ask: { image: { id: string } }) => {
      pinned.push(ask.image.id)
      return { state: 'cached', fetchedBytes: 8 }
    },
  } as never)

  const due = await reconciler.due(new AbortController().signal)
  expect(due).toHaveLength(count)
  expect(seen.statements).toBeLessThanOrEqual(LISTS + Math.ceil(count / IMAGES_AT_A_TIME) + 1)
  seen.statements = 0
  for (const replica of due) await reconciler.work(replica)

  expect(seen.statements).toBe(2 * count)
  expect(new Set(pinned)).toEqual(new Set(newest))
  expect(pinned).toHaveLength(count)
  // A backup that is at the other cell is not fetched again.
  for (const replica of due) await reconciler.work(replica)
  expect(pinned).toHaveLength(count)
})
