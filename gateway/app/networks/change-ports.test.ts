import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { createNetwork, createPort } from '#test/env/network-objects.ts'
import { deletePort } from './change-ports.ts'
import { FreeAddresses } from './free-addresses.ts'
import type { Networks } from './list-networks.ts'
import { PortKeys } from './tunnel-keys.ts'

const requester = { projectId: 'a'.repeat(32), isAdmin: true }
let db: Database
let networks: Networks

beforeAll(async () => {
  const url = await migratedDatabase('change-ports', 'gateway')
  db = new Database({ url, connectionsMax: 8 })
  const freeAddresses = new FreeAddresses(systemClock)
  networks = { db, clock: systemClock, freeAddresses, portKeys: new PortKeys(), mtuMax: 1500 }
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
