import { inArray } from 'drizzle-orm'
import { mysqlTable } from 'drizzle-orm/mysql-core'
import { beforeEach, expect, test } from 'vitest'
import { token } from './columns.ts'
import type { Executor, StatementValues } from './database.ts'
import { Lookup } from './lookup.ts'
import { builder, type Statement } from './statement.ts'

interface Thing {
  readonly name: string
}

const things = mysqlTable('things', { name: token('name') })
const lookup = new Lookup<Thing>(
  (names) =>
    builder
      .select()
      .from(things)
      .where(inArray(things.name, [...names])),
  ({ name }) => name,
)

let asked: (readonly unknown[])[]
let answer: (names: readonly unknown[]) => Promise<readonly Thing[]>
const db = {
  rows: async (statement: Statement, values: StatementValues) => {
    const names = statement.bind(values)
    asked.push(names)
    return answer(names)
  },
} as Partial<Executor> as Executor

beforeEach(() => {
  asked = []
  answer = async (names) =>
    [...new Set(names as string[])].filter((name) => name !== 'none').map((name) => ({ name }))
})

test('rows that are looked for in one turn are read together, and each caller gets its own row', async () => {
  const found = await Promise.all(['c', 'a', 'none', 'a', 'b'].map((name) => lookup.one(db, name)))

  expect(found.map((row) => row?.name)).toEqual(['c', 'a', undefined, 'a', 'b'])
  expect(asked).toEqual([['c', 'a', 'none', 'b']])
})

test('each gets all rows with its key', async () => {
  answer = async () => [{ name: 'a' }, { name: 'b' }, { name: 'a' }]
  const [a, none] = await Promise.all(['a', 'none'].map((name) => lookup.all(db, name)))

  expect(a).toEqual([{ name: 'a' }, { name: 'a' }])
  expect(none).toEqual([])
})

test('a row that is looked for alone is read alone', async () => {
  expect(await lookup.one(db, 'a')).toEqual({ name: 'a' })
  expect(await lookup.one(db, 'none')).toBeUndefined()
  expect(asked).toEqual([['a'], ['none']])
})

test('more than the largest statement takes are asked for in several', async () => {
  const names = Array.from({ length: 17 }, (_, n) => `thing-${n}`)
  const found = await Promise.all(names.map((name) => lookup.one(db, name)))

  expect(found.map((row) => row?.name)).toEqual(names)
  expect(asked.map(({ length }) => length)).toEqual([16, 1])
})

test('each executor is asked by itself, and each caller gets its failure', async () => {
  const other = { ...db, rows: () => Promise.reject(new Error('gone')) } as Executor
  const [own, first, second] = await Promise.allSettled([
    lookup.one(db, 'a'),
    lookup.one(other, 'a'),
    lookup.one(other, 'b'),
  ])

  expect(own).toMatchObject({ status: 'fulfilled', value: { name: 'a' } })
  expect([first?.status, second?.status]).toEqual(['rejected', 'rejected'])
})
