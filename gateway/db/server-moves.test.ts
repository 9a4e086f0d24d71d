import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CellId, type InstanceId, newId } from '#common/ids.ts'
import { CoreEnv } from '#test/env/compute-core.ts'
import { beginMoveStep, beginServerMove, cancelServerMove, findServerMove } from './server-moves.ts'

let env: CoreEnv
beforeAll(async () => {
  env = await CoreEnv.open('server_moves', ['north'])
})
afterAll(() => env?.[Symbol.asyncDispose]())

async function begun() {
  const who = { userId: 'u', requestId: newId<string>(), reason: null }
  const server = { subjectId: newId<InstanceId>(), subject: 'web', formerState: 'active' } as const
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
