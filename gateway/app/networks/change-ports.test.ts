import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { createNetwork, createPort, emptyNetworks } from '#test/env/network-objects.ts'
import { deletePort } from './change-ports.ts'
import type { Networks } from './list-networks.ts'

const requester = { projectId: 'a'.repeat(32), isAdmin: true }
let db: Database
let networks: Networks

beforeAll(async () => {
  ;({ db, networks } = await emptyNetworks('change-ports', 8))
})

afterAll(() => db?.[Symbol.asyncDispose]())

// As when a proxy repeats the request at another gateway, and the first one does it after all.
test('a port that two delete at once is gone for one, and not found by the other', async () => {
  const { id: network_id } = await createNetwork(networks, requester, {})
  const ports = await Promise.all(
    Array.from({ length: 20 }, () => createPort(networks, requester, { network_id })),
  )

  const ends = await Promise.all(
    ports.map(async ({ id }) => {
      const twice = [deletePort(networks, requester, id), deletePort(networks, requester, id)]
      return (await Promise.allSettled(twice)).map((end) => {
        return end.status === 'fulfilled' ? 'gone' : (end.reason as { kind?: string }).kind
      })
    }),
  )

  for (const end of ends) expect(new Set(end)).toEqual(new Set(['gone', 'not-found']))
})
