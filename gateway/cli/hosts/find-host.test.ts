import { expect, test } from 'vitest'
import type { Session } from '../cloud/session.ts'
import { findHost } from './find-host.ts'

const cells = [
  { id: 'n', name: 'north' },
  { id: 's', name: 'south' },
]
const hosts = [
  { id: '1', name: 'rack-1', cell_id: 'n' },
  { id: '2', name: 'rack-1', cell_id: 's' },
  { id: '3', name: 'rack-2', cell_id: 's' },
]
const ask = async (_method: string, path: string, call: { query?: { cell?: string } } = {}) => {
  if (path === '/v1/cells') return { cells }
  const { cell } = call.query ?? {}
  const id = cells.find(({ name }) => name === cell)?.id
  return { hosts: hosts.filter(({ cell_id }) => cell_id === (id ?? cell_id)), next: null }
}
const session = { federation: { ask } } as unknown as Session

test('finds a host by its name alone, and names the cells of several', async () => {
  expect(await findHost(session, 'rack-2')).toMatchObject({ id: '3' })
  expect(await findHost(session, 'rack-1', 'south')).toMatchObject({ id: '2' })
  await expect(findHost(session, 'rack-1')).rejects.toMatchObject({
    kind: 'conflict',
    message: 'Several cells have a host rack-1: north, south. Add --cell, or give its id.',
  })
  await expect(findHost(session, 'rack-3')).rejects.toMatchObject({ kind: 'not-found' })
})
