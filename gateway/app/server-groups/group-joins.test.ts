import { expect, test } from 'vitest'
import type { Executor } from '#common/db/database.ts'
import { GroupJoins } from './group-joins.ts'

// Goal: a server that joins a group counts once, in what was read of the group or beside it.

const HOUR_MS = 3_600_000

/** A group of which the database has so many members in the north, and how often it was asked. */
function group() {
  const state = { now: 0, members: 0, asked: 0 }
  const joins = new GroupJoins({ elapsed: () => state.now })
  const db = {
    rows: () => {
      state.asked += 1
      return Promise.resolve([{ cell_id: 'north', members: state.members }])
    },
  } as unknown as Executor
  const read = () => joins.read(db, 'group')
  return { state, joins, read }
}

test('a server counts beside every read that began before it was written', async () => {
  const { state, joins, read } = group()
  const early = await read()
  const join = joins.add('group', 'north')
  expect(joins.members(early).get('north')).toBe(1)
  state.now += 2_000
  const late = await read()
  joins.written(join)
  state.now += 2_000
  state.members = 1
  const after = await read()

  for (const each of [early, late, after]) expect(joins.members(each).get('north')).toBe(1)
})

test('a group is read once a second, however many servers join it', async () => {
  const { state, joins, read } = group()
  const reads = await Promise.all([read(), read()])
  for (let nth = 0; nth < 5; nth += 1) joins.written(joins.add('group', 'north'))

  expect(joins.members(reads[0]).get('north')).toBe(5)
  expect(joins.members(await read()).get('north')).toBe(5)
  expect(state.asked).toBe(1)
  state.now += 1_000
  await read()
  expect(state.asked).toBe(2)
})

test('a read that fails is done again', async () => {
  const joins = new GroupJoins({ elapsed: () => 0 })
  const failing = { rows: () => Promise.reject(new Error('gone')) } as unknown as Executor
  const whole = { rows: () => Promise.resolve([]) } as unknown as Executor

  await expect(joins.read(failing, 'group')).rejects.toThrow('gone')
  expect((await joins.read(whole, 'group')).members.size).toBe(0)
})

test('a server that is not written counts no more, and others are forgotten after a while', async () => {
  const { state, joins, read } = group()
  const before = await read()
  joins.remove(joins.add('group', 'north'))
  expect(joins.members(before).get('north')).toBe(0)

  joins.written(joins.add('group', 'north'))
  state.now = HOUR_MS
  joins.add('other', 'south')
  expect(joins.members(before).get('north')).toBe(0)
})
