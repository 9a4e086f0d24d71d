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
