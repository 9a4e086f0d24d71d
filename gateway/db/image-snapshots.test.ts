import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database, Tx } from '#common/db/database.ts'
import { addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { newestSnapshots, surplusBackups } from './image-snapshots.ts'
import { images } from './schema/image.ts'
import { requestSpecs } from './schema/servers.ts'

// Goal: of a project with many images, those that matter are read, and no others.

const PROJECT = 'p'.repeat(32)
const OTHERS = 400
/** Of an index, and of a row for each of its entries: some more than are needed, and far fewer than there are. */
const READ_MAX = 60

let db: Database
let servers: string[]

beforeAll(async () => {
  db = await globalDatabase('image-snapshots')
  const cell = await addCell(db, 'north')
  servers = await Promise.all([addServer(db, cell), addServer(db, cell)])
  await save(Array.from({ length: OTHERS }, (_, nth) => backup(randomUUID(), nth)))
})
afterAll(() => db?.[Symbol.asyncDispose]())

function backup(serverId: string, second: number, change: object = {}) {
  const at = new Date(Date.UTC(2026, 0, 1, 0, 0, second))
  const properties = { instance_uuid: serverId, image_type: 'backup', backup_type: 'daily' }
  const limits = { minDiskGb: 0, minRamMb: 0, isProtected: false, isHidden: false }
  const about = { status: 'active', visibility: 'private', owner: PROJECT, diskFormat: 'qcow2' }
  const times = { createdAt: at, updatedAt: at }
  return { id: randomUUID(), properties, ...limits, ...about, ...times, revision: 1, ...change }
}

async function save(rows: readonly (typeof images.$inferInsert)[]): Promise<readonly string[]> {
  await db.orm.insert(images).values([...rows])
  return rows.map(({ id }) => id)
}

/** How many rows and entries of indexes the database reads for it. */
async function readsOf<T>(work: (tx: Tx) => Promise<T>): Promise<{ found: T; reads: number }> {
  return db.transaction(async (tx) => {
    const reads = async () => {
      const [rows] = await tx.orm.execute("show session status like 'Handler_read%'")
      return (rows as unknown as { Value: string }[]).reduce(
        (sum, row) => sum + Number(row.Value),
        0,
      )
    }
    const before = await reads()
    const found = await work(tx)
    return { found, reads: (await reads()) - before }
  })
}

test('the newest of each server is found among many', async () => {
  const [first, second] = servers as [string, string]
  const [, newest] = await save([backup(first, 1), backup(first, 3), backup(first, 2)])
  const [own] = await save([
    backup(second, 5),
    backup(second, 6, { owner: 'q'.repeat(32) }),
    backup(second, 7, { status: 'saving' }),
    backup(second, 8, { changesOf: randomUUID() }),
    backup(second, 9, { properties: { instance_uuid: second } }),
    backup(second, 10, { properties: { instance_uuid: `${second}x`, image_type: 'backup' } }),
  ])

  const asked = [...servers, randomUUID()].map((id) => ({ id, projectId: PROJECT }))
  const { found, reads } = await readsOf((tx) => newestSnapshots(tx, asked))

  expect(found).toEqual(
    new Map([
      [first, newest],
      [second, own],
    ]),
  )
  expect(reads).toBeLessThan(READ_MAX)
})

test('none is found from before the server was rebuilt', async () => {
  const server = await addServer(db, null)
  const rebuilt = { rebuiltAt: Date.UTC(2026, 0, 1, 0, 0, 2) }
  await db.orm.update(requestSpecs).set({ spec: rebuilt }).where(eq(requestSpecs.serverId, server))
  const newest = async () => [...(await newestSnapshots(db, [{ id: server, projectId: PROJECT }]))]

  await save([backup(server, 1)])
  expect(await newest()).toEqual([])
  const [after] = await save([backup(server, 3)])
  expect(await newest()).toEqual([[server, after]])
})

test('the backups of a server beyond those that are kept are found among many', async () => {
  const id = randomUUID()
  const made = await save([1, 2, 3, 4].map((second) => backup(id, second)))
  await save([
    backup(id, 0, { isProtected: true }),
    backup(id, 0, {
      properties: { instance_uuid: id, image_type: 'backup', backup_type: 'weekly' },
    }),
  ])

  const { found, reads } = await readsOf((tx) => surplusBackups(tx, made[3]!, 2))

  expect(found).toEqual([made[1], made[0]])
  expect(reads).toBeLessThan(READ_MAX)
})

test('an image may name anything as its server', async () => {
  const [id] = await save([backup(`é${'x'.repeat(254)}`, 1)])
  expect(await surplusBackups(db, id!, 0)).toEqual([])
})
