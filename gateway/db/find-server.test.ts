import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database, Executor } from '#common/db/database.ts'
import type { CellId } from '#common/ids.ts'
import { addCell, globalDatabase } from '#test/env/indexed-servers.ts'
import { sampleHost } from '#test/env/sample-host.ts'
import { sampleServer } from '#test/env/sample-server.ts'
import { findPlacedServer, findServer } from './find-server.ts'
import { applyHostViews } from './host-index.ts'
import { queueRequestSpecs } from './request-specs.ts'
import { queueServers } from './server-index.ts'

let db: Database
let cell: CellId

beforeAll(async () => {
  db = await globalDatabase('find_server')
  cell = await addCell(db, 'north')
})

afterAll(() => db?.[Symbol.asyncDispose]())

const owner = { projectId: 'p'.repeat(32), userId: 'u'.repeat(32) }

async function addServer(hostId: string | null, spec: object = {}, sealedUserData?: string) {
  const server = sampleServer(owner, cell, {})
  const sealed = { sealedUserData: sealedUserData ?? null, sealedFiles: null, sealedPassword: null }
  await db.transaction((tx) => {
    queueServers(tx, [server])
    queueRequestSpecs(tx, [{ serverId: server.id, spec: spec as never, ...sealed }])
  })
  if (hostId !== null)
    await db.orm.execute(
      `update server_index set host_id = '${hostId}' where server_id = '${server.id}'`,
    )
  return server.id
}

test('of servers that administrators read at once host, group and request come with one statement', async () => {
  const up = sampleHost('up')
  const down = sampleHost('down', { isUp: false, isDisabled: true })
  const forced = sampleHost('forced', { isForcedDown: true })
  const gone = sampleHost('gone', { isDeleted: true })
  await db.transaction((tx) => applyHostViews(tx, cell, [up, down, forced, gone]))
  const image = { kernel: { id: 'k' }, ramdisk: { id: 'r' } }
  const ids = [
    await addServer(up.hostId, { image }, 'sealed'),
    await addServer(down.hostId),
    await addServer(forced.hostId),
    await addServer(gone.hostId),
    await addServer(null),
  ]
  const ran: string[] = []
  const counted: Executor = {
    get orm(): never {
      throw new Error('a query was built for one request')
    },
    run: db.run.bind(db),
    rows: (statement, values) => {
      ran.push(statement.text)
      return db.rows(statement, values)
    },
  }

  const found = await Promise.all(ids.map((id) => findPlacedServer(counted, id)))

  expect(ran).toHaveLength(1)
  expect(found.map((each) => each?.host)).toEqual([
    { cellId: cell, view: { isUp: true, isDisabled: false, isForcedDown: false } },
    { cellId: cell, view: { isUp: false, isDisabled: true, isForcedDown: false } },
    { cellId: cell, view: { isUp: true, isDisabled: false, isForcedDown: true } },
    undefined,
    undefined,
  ])
  const none = { sealedUserData: null, kernelId: null, ramdiskId: null }
  const first = { sealedUserData: 'sealed', kernelId: 'k', ramdiskId: 'r' }
  expect(found.map((each) => each?.attributes)).toEqual([first, none, none, none, none])
  expect(found.map((each) => each?.server)).toEqual(
    await Promise.all(ids.map((id) => findServer(db, id))),
  )
})
