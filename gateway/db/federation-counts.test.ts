import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { unfinishedSagas } from '#common/saga/unfinished.ts'
import { addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { databaseTime } from './clock.ts'
import {
  appliedPositions,
  countObjects,
  countServers,
  countWork,
  lagOf,
  largestProjects,
} from './federation-counts.ts'
import { quotaUsages } from './schema/resources.ts'
import { serverIntents } from './schema/servers.ts'

// Goal: what metrics and health say of the federation is what is in the database.

let db: Database
let cell: CellId

beforeAll(async () => {
  db = await globalDatabase('federation_counts')
  cell = await addCell(db, 'north')
})
afterAll(() => db?.[Symbol.asyncDispose]())

test('servers are counted by cell and state', async () => {
  for (const in_ of [cell, cell, null]) await addServer(db, in_)

  const counted = await countServers(db)

  const state = { hostId: null, vmState: 'building', taskState: 'scheduling' }
  expect(counted).toHaveLength(2)
  expect(counted).toContainEqual({ ...state, cellId: cell, count: 2 })
  expect(counted).toContainEqual({ ...state, cellId: null, count: 1 })
})

test('work and objects that are not there count as 0, and those that are with the age of the oldest', async () => {
  expect(await countWork(db)).toMatchObject({ eventInbox: 0, imageTasks: 0, intents: [] })
  expect(await countObjects(db)).toMatchObject({
    networks: 0,
    ports: 0,
    imageBytes: 0,
    projects: 0,
  })
  expect(await unfinishedSagas(db)).toEqual([])

  const createdAt = new Date((await databaseTime(db)) - 60_000)
  const of = { projectId: 'p', userId: 'u', work: {}, createdAt }
  await db.orm.insert(serverIntents).values(
    ['a', 'b'].map(() => ({
      ...of,
      id: newId<string>(),
      serverId: newId<string>(),
      action: 'stop',
    })),
  )

  const { intents } = await countWork(db)
  expect(intents).toMatchObject([{ action: 'stop', count: 2 }])
  expect(intents[0]!.oldestAgeS).toBeGreaterThanOrEqual(59)
})

test('the projects with the most servers come first, and those without any not at all', async () => {
  const rows = [
    ['small', 1],
    ['large', 7],
    ['empty', 0],
  ] as const
  await db.orm.insert(quotaUsages).values(
    rows.flatMap(([ownerId, used]) => [
      { ownerId, resource: 'instances', used },
      { ownerId, resource: 'cores', used: 2 * used },
    ]),
  )

  const projects = await largestProjects(db, 10)

  expect(projects.map((each) => [each.projectId, each.instances, each.cores, each.ram])).toEqual([
    ['large', 7, 14, 0],
    ['small', 1, 2, 0],
  ])
})

test('the lag of a feed is known where cell and gateway speak of the same database', async () => {
  const [applied] = await appliedPositions(db)
  expect(applied).toEqual({ cellId: cell, incarnation: null, position: 0 })

  const known = { ...applied!, incarnation: 'one', position: 7 }
  expect(lagOf({ incarnation: 'one', position: 10 }, known)).toBe(3)
  expect(lagOf({ incarnation: 'one', position: 5 }, known)).toBe(0)
  expect(lagOf({ incarnation: 'two', position: 10 }, known)).toBeUndefined()
  expect(lagOf(undefined, known)).toBeUndefined()
})
