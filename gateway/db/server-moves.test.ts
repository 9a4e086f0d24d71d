import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CellId, type InstanceId, newId } from '#common/ids.ts'
import type { Task } from '#common/states/instance-states.ts'
import { CoreEnv } from '#test/env/compute-core.ts'
import { sampleServer } from '#test/env/sample-server.ts'
import { queueMappings } from './instance-mappings.ts'
import { instanceMappings } from './schema/servers.ts'
import { queueServers } from './server-index.ts'
import {
  beginMoveStep,
  beginServerMove,
  cancelServerMove,
  dueServerMoves,
  findServerMove,
} from './server-moves.ts'

let env: CoreEnv
beforeAll(async () => {
  env = await CoreEnv.open('server_moves', ['north'])
})
afterAll(() => env?.[Symbol.asyncDispose]())

async function begun(subjectId = newId<InstanceId>()) {
  const who = { userId: 'u', requestId: newId<string>(), reason: null }
  const server = { subjectId, subject: 'web', formerState: 'active' } as const
  const cells = { cellId: newId<CellId>(), toCellId: null }
  const id = await env.db.transaction((tx) => beginServerMove(tx, { ...who, ...server, ...cells }))
  return (await findServerMove(env.db, id))!
}

test('a step begins once, for the gateway that saw the move as it is', async () => {
  const seen = await begun()
  const next = { step: 'saving', stepRequestId: newId<string>() } as const

  expect(await beginMoveStep(env.db, seen, next)).toBe(true)
  expect(await beginMoveStep(env.db, seen, { ...next, stepRequestId: newId() })).toBe(false)
})

test('a step does not begin after a cancel that its gateway has not seen, and no cancel comes after it', async () => {
  const seen = await begun()
  const changing = { step: 'changing', stepRequestId: newId<string>() } as const
  const cancel = (id: string) => env.db.transaction((tx) => cancelServerMove(tx, id))

  expect(await cancel(seen.id)).toBe(true)
  expect(await beginMoveStep(env.db, seen, changing)).toBe(false)

  const other = await begun()
  expect(await beginMoveStep(env.db, other, changing)).toBe(true)
  expect(await cancel(other.id)).toBe(false)
})

test('a move is due once nothing changes its server any more, and where its server is deleted or gone', async () => {
  const owner = { projectId: 'p'.repeat(32), userId: 'u'.repeat(32) }
  const cellId = newId<CellId>()
  const moveOf = async (taskState: Task | null, isDeleting = false) => {
    const server = sampleServer(owner, cellId, { vmState: 'active', taskState })
    const { id: serverId, projectId } = server
    await env.db.transaction((tx) => {
      const mapping = { serverId, projectId, cellId, cores: 1, ramMb: 128, sagaId: null }
      queueMappings(tx, [{ ...mapping, attempt: 1 }])
      queueServers(tx, [server])
      return Promise.resolve()
    })
    await env.db.orm
      .update(instanceMappings)
      .set({ isDeleting })
      .where(eq(instanceMappings.serverId, serverId))
    return (await begun(serverId)).id
  }
  const [idle, busy, deleting] = [
    await moveOf(null),
    await moveOf('shelving'),
    await moveOf('deleting', true),
  ]
  const { id: gone } = await begun()

  const due = (await dueServerMoves(env.db, '', 1_000)).map(({ id }) => id)

  expect(due).toEqual(expect.arrayContaining([idle, deleting, gone]))
  expect(due).not.toContain(busy)
})
