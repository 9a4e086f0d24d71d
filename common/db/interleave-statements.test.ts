import { expect, test } from 'vitest'
import { interleaveStatements } from './interleave-statements.ts'

const otherwise = () => new Error('no')

test('the first statements of all come first, and the same insert of all is one', () => {
  const transaction = (n: number) => [
    { text: 'insert into `a` (`x`, `y`) values (?, now(3)), (?, now(3))', values: [n, -n] },
    {
      text: 'insert into `b` (`x`) values (?) on duplicate key update `x` = values(x)',
      values: [n],
    },
    { text: 'update `c` set `x` = ?', values: [n], expected: { rows: n, otherwise } },
  ]

  const [a, b, ...updates] = interleaveStatements([transaction(1), transaction(2)])

  expect(a).toEqual({
    text: 'insert into `a` (`x`, `y`) values (?, now(3)), (?, now(3)), (?, now(3)), (?, now(3))',
    values: [1, -1, 2, -2],
  })
  expect(b).toEqual({
    text: 'insert into `b` (`x`) values (?), (?) on duplicate key update `x` = values(x)',
    values: [1, 2],
  })
  expect(updates.map(({ values, expected }) => [values, expected?.rows])).toEqual([
    [[1], 1],
    [[2], 2],
  ])
})

test('an insert over several lines is one of many rows, too', () => {
  const text = `
    insert into a (x)
    values ((select ? from dual))`

  const [wide, ...others] = interleaveStatements([[{ text, values: [1] }], [{ text, values: [2] }]])

  expect(others).toEqual([])
  expect(wide).toEqual({ text: `${text}, ((select ? from dual))`, values: [1, 2] })
})

test('what adds up runs once with the sums, for all that differ in nothing else', () => {
  const text = 'update `a` set `n` = `n` + ? where `id` = ? and `n` + ? < 9'
  const charge = (id: string, n: number) => {
    return [{ text, values: [n, id, n], sums: [0, 2], expected: { rows: 1, otherwise } }]
  }

  const charges = interleaveStatements([charge('x', 1), charge('y', 2), charge('x', 3)])

  expect(charges.map(({ values, expected }) => [values, expected?.rows])).toEqual([
    [[4, 'x', 4], 1],
    [[2, 'y', 2], 1],
  ])
})

test('what does as much once as again runs once', () => {
  const hold = (id: string) => [{ text: 'select 1 into @held from `a`', values: [id], sums: [] }]

  const held = interleaveStatements([hold('x'), hold('x'), hold('y')])

  expect(held.map(({ values }) => values)).toEqual([['x'], ['y']])
})

test.each([
  ['an insert from a select', 'insert into `a` select ? from dual'],
  ['an upsert', 'insert into `a` values (?) on duplicate key update `x` = ?'],
  ['an update', 'update `a` set `x` = ?'],
])('%s stays a statement of each', (_, text) => {
  expect(interleaveStatements([[{ text, values: [1] }], [{ text, values: [2] }]])).toEqual([
    { text, values: [1] },
    { text, values: [2] },
  ])
})

test('the same change of several rows is one change of all of them, for those that differ in nothing but their keys', () => {
  const text = 'delete from `a` where `id` = ? and `owner` = ? and `attempt` = ? and `n` = 4'
  const remove = (id: string, attempt: number) => [
    { text, values: [id, `${id}-owner`, attempt], keys: [0, 1], expected: { rows: 2, otherwise } },
  ]

  const removals = interleaveStatements([remove('x', 1), remove('y', 2), remove('z', 1)])

  expect(removals.map((each) => [each.text, each.values, each.expected?.rows])).toEqual([
    [
      'delete from `a` where `id` in (?, ?) and `owner` in (?, ?) and `attempt` = ? and `n` = 4',
      ['x', 'z', 'x-owner', 'z-owner', 1],
      4,
    ],
    [text, ['y', 'y-owner', 2], 2],
  ])
})
