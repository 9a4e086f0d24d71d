import { randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import type { CellSummary } from '#openapi/wire/feed.ts'
import { addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import type { Cell } from '../../cell-client/cell.ts'
import { insertLoss } from '../../db/lost-cells.ts'
import { removeCell } from '../../db/remove-cell.ts'
import { images } from '../../db/schema/image.ts'
import { serverReplicas } from '../../db/schema/protections.ts'
import { serverIndex } from '../../db/schema/servers.ts'
import { findProtection, putProtection, removeProtection } from '../../db/server-protections.ts'
import {
  dueReplicas,
  hastenReplicas,
  putReplica,
  replicaCellOf,
  takeReplica,
} from '../../db/server-replicas.ts'
import { sampleCell } from '../cells/testing.ts'
import { replicate, seeReplicas } from './replicate.ts'

// Goal: whatever becomes of the cell, the server and its backups, it is known what the cell keeps, and it keeps nothing for ever.

const PROJECT = 'p'.repeat(32)

let db: Database
let home: CellId
let away: CellId
let serverId: string
let known: Cell
/** What the cell is asked, and answers. */
let asked: string[]
let answer: () => object | Promise<object>

beforeAll(async () => {
  db = await globalDatabase('replicate')
})
afterAll(() => db?.[Symbol.asyncDispose]())
beforeEach(async () => {
  home = await addCell(db, `home-${randomUUID()}`)
  away = await addCell(db, `away-${randomUUID()}`)
  serverId = await addServer(db, home)
  known = { ...sampleCell('away'), id: away }
  asked = []
  answer = () => ({ state: 'cached', fetchedBytes: 8 })
  const schedule = { everyS: 3_600, keep: 2, toCellId: away }
  const protection = { serverId, projectId: PROJECT, userId: 'u'.repeat(32), ...schedule }
  await db.transaction(async (tx) => {
    await putProtection(tx, protection)
    await putReplica(tx, serverId, away)
  })
})

async function backUp(at = new Date()): Promise<string> {
  const id = randomUUID()
  const properties = { instance_uuid: serverId, image_type: 'backup' }
  const content = { sizeBytes: 8, virtualSizeBytes: 8, md5: '', sha512: '', sha256: 'a'.repeat(64) }
  const limits = { minDiskGb: 0, minRamMb: 0, isProtected: false, isHidden: false }
  const about = { status: 'active', visibility: 'private', owner: PROJECT, diskFormat: 'qcow2' }
  const row = { id, properties, ...content, ...limits, ...about, createdAt: at, updatedAt: at }
  await db.orm.insert(images).values({ ...row, revision: 1 })
  return id
}

/** Takes it one step further, and returns what is known then; undefined: nothing is. */
async function step() {
  const isOurs = eq(serverReplicas.serverId, serverId)
  await db.orm
    .update(serverReplicas)
    .set({ nextAt: new Date(0) })
    .where(isOurs)
  const due = (await dueReplicas(db, 1_000)).filter((each) => each.serverId === serverId)
  expect(await takeReplica(db, due[0]!)).toBe(true)
  const ask = (_cell: unknown, operation: string) => {
    asked.push(operation)
    return Promise.resolve().then(answer)
  }
  const cells = { cell: (id: string) => (id === away ? known : undefined) }
  const deps = { db, cells, askCell: ask, imageTicket: () => 'ticket' }
  const [seen] = await seeReplicas(deps as never, due)
  await replicate(deps as never, seen!)
  const [row] = await db.orm.select().from(serverReplicas).where(isOurs)
  return row && { imageId: row.imageId, lastError: row.lastError }
}

test('without a backup nothing is kept; with one the newest is, and servers prefer the cell', async () => {
  expect(await step()).toEqual({ imageId: null, lastError: 'There is no backup yet.' })
  expect(asked).toEqual([])
  expect(await replicaCellOf(db, serverId)).toBeNull()

  const first = await backUp(new Date(1_000))
  answer = () => ({ state: 'fetching', fetchedBytes: 3 })
  const fetching = 'The cell has 3 of 8 bytes of the backup of 1970-01-01T00:00:01.000Z.'
  expect(await step()).toEqual({ imageId: null, lastError: fetching })
  answer = () => ({ state: 'cached', fetchedBytes: 8 })
  expect(await step()).toEqual({ imageId: first, lastError: null })
  expect(await replicaCellOf(db, serverId)).toBe(away)
  expect((await findProtection(db, serverId))?.replica).toMatchObject({
    cellId: away,
    imageId: first,
    imageAt: new Date(1_000),
    error: null,
  })

  const second = await backUp(new Date(2_000))
  expect(await step()).toEqual({ imageId: second, lastError: null })
  await db.orm.delete(images).where(eq(images.owner, PROJECT))
  expect(await step()).toEqual({ imageId: null, lastError: 'There is no backup yet.' })
  expect(asked.at(-1)).toBe('image.unpin')
})

test.each([
  ['is silent', { isReachable: false }, {}, /^Cell away does not answer/],
  ['has no hosts', {}, { imageFormats: [] }, /^Cell away.* cannot use images of format 'qcow2'\.$/],
])('what a cell has that %s stays known', async (_is, change, summary, why) => {
  const first = await backUp(new Date(1_000))
  await step()
  await backUp(new Date(2_000))
  known = { ...known, ...change, summary: { ...known.summary!, ...summary } as CellSummary }

  const seen = await step()
  expect(seen).toEqual({ imageId: first, lastError: expect.stringMatching(why) })
})

test('a backup that is filled while the cell fetches the one before is due at once', async () => {
  const first = await backUp(new Date(1_000))
  answer = async () => {
    await hastenReplicas(db, serverId)
    return { state: 'cached', fetchedBytes: 8 }
  }

  expect(await step()).toEqual({ imageId: first, lastError: null })

  const due = async () => (await dueReplicas(db, 1_000)).map((each) => each.serverId)
  await expect.poll(due).toContain(serverId)
  answer = () => ({ state: 'cached', fetchedBytes: 8 })
  await step()
  expect(await due()).not.toContain(serverId)
})

test('what another gateway has noted since one took it stays, and the cell is asked again', async () => {
  const first = await backUp(new Date(1_000))
  let second = ''
  let isLate = true
  answer = async () => {
    if (isLate) {
      // This one is late: meanwhile another takes it, and has the newest kept.
      isLate = false
      second = await backUp(new Date(2_000))
      await step()
    }
    return { state: 'cached', fetchedBytes: 8 }
  }

  expect(await step()).toEqual({ imageId: second, lastError: null })

  expect(second).not.toBe(first)
  const due = async () => (await dueReplicas(db, 1_000)).map((each) => each.serverId)
  await expect.poll(due).toContain(serverId)
})

test('a cell that refuses says why', async () => {
  await backUp()
  answer = () => {
    throw new Failure('unavailable', 'The image cache of 5 bytes has no room for the 8 bytes.')
  }
  expect(await step()).toMatchObject({ lastError: expect.stringContaining('has no room') })
})

test('a cell that was declared lost keeps nothing that counts, and one that has left neither', async () => {
  await backUp()
  await step()
  await db.transaction((tx) => insertLoss(tx, away, { by: 'u', statement: 's' }))
  expect(await step()).toEqual({
    imageId: null,
    lastError: expect.stringMatching(/^Cell away-.* was declared lost\.$/),
  })
  expect(await replicaCellOf(db, serverId)).toBeNull()
  await db.transaction((tx) => removeCell(tx, away))
  expect(await step()).toEqual({
    imageId: null,
    lastError: 'The cell has left. Name another cell.',
  })
  await removeProtection(db, serverId)
  expect(await step()).toBeUndefined()
})

test('the cell lets go of the backup of a server that has come to it', async () => {
  await backUp()
  await step()
  await db.orm.update(serverIndex).set({ cellId: away }).where(eq(serverIndex.serverId, serverId))
  expect(await step()).toEqual({
    imageId: null,
    lastError: expect.stringContaining('The server itself is in cell away-'),
  })
  expect(asked.at(-1)).toBe('image.unpin')
})

test.each([
  ['the protection ends', () => removeProtection(db, serverId)],
  [
    'the server is deleted',
    () =>
      db.orm
        .update(serverIndex)
        .set({ deletedAt: new Date() })
        .where(eq(serverIndex.serverId, serverId)),
  ],
])('when %s, the cell is asked to let go until it has, and once more', async (_when, end) => {
  await backUp()
  await step()
  await end()
  known = { ...known, isReachable: false }
  expect(await step()).toMatchObject({ lastError: expect.stringContaining('does not answer') })
  known = { ...known, isReachable: true }

  expect(await step()).toEqual({ imageId: null, lastError: 'The cell has let go of it.' })
  expect(await step()).toBeUndefined()
  expect(asked).toEqual(['image.pin', 'image.unpin', 'image.unpin'])
})

test('a cell that has no cache any more has nothing to let go of', async () => {
  await removeProtection(db, serverId)
  answer = () => {
    throw new Failure('unsupported', 'The cell has no image cache.')
  }
  expect(await step()).toBeUndefined()
})
