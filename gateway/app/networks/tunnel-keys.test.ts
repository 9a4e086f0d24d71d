import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { createNetwork, createPort, emptyNetworks } from '#test/env/network-objects.ts'
import { deletePort } from './change-ports.ts'
import type { Networks } from './list-networks.ts'
import { NETWORK_KEYS } from './provider.ts'
import { insertWithKey, PORT_KEYS, PortKeys } from './tunnel-keys.ts'

const requester = { projectId: 'a'.repeat(32), isAdmin: true }
let db: Database
let networks: Networks

beforeAll(async () => {
  ;({ db, networks } = await emptyNetworks('tunnel-keys', 8))
})

afterAll(async () => {
  await db?.[Symbol.asyncDispose]()
})

test('a network whose key another has gets one that is free', async () => {
  const first = await createNetwork(networks, requester, {})

  const second = await db.transaction((tx) =>
    insertWithKey(tx, { ...first, id: crypto.randomUUID() }),
  )

  expect(second.tunnelKey).not.toBe(first.tunnelKey)
  for (const { tunnelKey } of [first, second]) {
    expect(tunnelKey).toBeGreaterThanOrEqual(NETWORK_KEYS.first)
    expect(tunnelKey).toBeLessThanOrEqual(NETWORK_KEYS.last)
  }
})

test('ports made at once get the last keys of their network, each once, and then a clear refusal', async () => {
  const network = await createNetwork(networks, requester, {})
  const other = await createNetwork(networks, requester, {})
  const sample = await createPort(networks, requester, { network_id: other.id })
  const left = 4
  await db.orm.execute(sql`
    insert into ports (id, project_id, name, description, created_at, updated_at, revision_number, network_id,
      mac_address, admin_state_up, status, device_id, device_owner, nic_index, boot_made, binding_host,
      port_security_enabled, tunnel_key)
    select uuid(), p.project_id, '', '', now(3), now(3), 1, ${network.id}, concat('02:00:00:00:', lpad(hex(seq div 256), 2, '0'), ':', lpad(hex(seq mod 256), 2, '0')),
      1, 'DOWN', '', '', 0, 0, '', 1, seq
    from seq_1001_to_32767 straight_join ports p
    where p.id = ${sample.id} and seq <= ${PORT_KEYS.last - left}`)

  const draft = { network_id: network.id, security_groups: [] }
  const results = await Promise.allSettled(
    Array.from({ length: left + 2 }, () => createPort(networks, requester, draft)),
  )

  const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const refusals = results.flatMap((result) =>
    result.status === 'rejected' ? [String(result.reason)] : [],
  )
  expect(made.map(({ tunnelKey }) => tunnelKey).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: left }, (_, i) => PORT_KEYS.last - left + 1 + i),
  )
  for (const refusal of refusals) expect(refusal).toContain('the most that a network can have')

  await deletePort(networks, requester, made[0]!.id)
  const next = await createPort(networks, requester, draft)
  expect(next.tunnelKey).toBe(made[0]?.tunnelKey)
})

test('the keys of ports made without a look follow each other, and are others after one was taken', () => {
  const keys = new PortKeys()
  const runOf = (count: number) => Array.from({ length: count }, () => keys.next('a'))
  const run = runOf(PORT_KEYS.last - PORT_KEYS.first + 1)

  expect(new Set(run).size).toBe(run.length)
  expect(Math.min(...run)).toBe(PORT_KEYS.first)
  expect(Math.max(...run)).toBe(PORT_KEYS.last)
  const starts = Array.from({ length: 20 }, () => {
    keys.jump('a')
    return keys.next('a')
  })
  expect(new Set(starts).size).toBeGreaterThan(1)
})
