import { expect, test } from 'vitest'
import { effectiveRoles } from './effective-assignments.ts'

const roles = ['admin', 'member', 'reader', 'service'].map((name) => roleOf(name, ''))
const implied = [
  { priorId: 'admin', impliedId: 'member' },
  { priorId: 'member', impliedId: 'reader' },
  { priorId: 'reader', impliedId: 'admin' },
]
const names = (ids: readonly string[], model = { roles, implied: implied.slice(0, 2) }) =>
  effectiveRoles(model, ids).map(({ name }) => name)

test('a role brings all that it implies, over any number of steps', () => {
  expect(names(['admin'])).toEqual(['admin', 'member', 'reader'])
  expect(names(['member', 'service'])).toEqual(['member', 'reader', 'service'])
})

test('roles that imply each other end', () => {
  expect(names(['reader'], { roles, implied })).toEqual(['admin', 'member', 'reader'])
})

test('an unknown id gives no role', () => {
  expect(names(['gone'])).toEqual([])
})

test('a role of a domain gives the roles that it implies, and not itself', () => {
  const model = {
    roles: [...roles, { ...roleOf('admin', 'd'), id: 'own' }],
    implied: [{ priorId: 'own', impliedId: 'reader' }],
  }

  expect(names(['own'], model)).toEqual(['reader'])
})

function roleOf(name: string, domainId: string) {
  return { id: name, name, domainId, description: '', immutable: false, extra: {} }
}
