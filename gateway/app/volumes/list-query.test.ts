import { expect, test } from 'vitest'
import { pageOf } from './list-query.ts'

const sortKeys = ['created_at', 'id', 'name', 'size']

test.each([
  ['', ['created_at:desc', 'id:desc']],
  ['name:asc', ['name:asc', 'created_at:asc', 'id:asc']],
  ['size:desc,name:asc', ['size:desc', 'name:asc', 'created_at:desc', 'id:desc']],
  ['id:asc', ['id:asc']],
])('by "%s", what is equal comes by time and id, as in Cinder', (asked, order) => {
  const query = asked === '' ? {} : { sort: asked }
  const { sort } = pageOf(query, { limit: 10, sortKeys, equal: {} })

  expect(sort.map(({ attribute, direction }) => `${attribute}:${direction}`)).toEqual(order)
})
