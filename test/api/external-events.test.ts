import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { findPorts, portsOfServer } from '#gateway/db/ports.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { type BootWorld, bootWorld } from '#test/env/boot-world.ts'
import type { ApiClient } from '#test/env/compute-api.ts'

let world: BootWorld
let admin: ApiClient
let alice: ApiClient
let id: string

beforeAll(async () => {
  world = await bootWorld('external_events')
  admin = await world.api.user('admin', 'admin', 'admin')
  alice = await world.api.user('alice', 'blue', 'member')
  const made = await alice.call<{ server: { id: string } }>('createServer', { body: world.body() })
  id = made.body.server.id
  await world.until(id, ({ vmState }) => vmState === 'active')
})

afterAll(() => world?.[Symbol.asyncDispose]())

interface Taken {
  readonly events: readonly {
    readonly name: string
    readonly code: number
    readonly status: string
  }[]
}
const sendEvents = (events: readonly object[], version: Microversion = '2.1', client = admin) =>
  client.call<Taken>('createServerExternalEvents', { body: { events }, version })

test('events are taken one by one, and 207 says that some were not', async () => {
  const good = { name: 'network-changed', server_uuid: id }
  const all = await sendEvents([good])
  expect(all.status).toBe(200)
  expect(all.body.events).toEqual([{ ...good, code: 200, status: 'completed' }])

  const mixed = await sendEvents([good, { ...good, server_uuid: newId() }])
  expect(mixed.status).toBe(207)
  expect(mixed.body.events.map(({ code, status }) => [code, status])).toEqual([
    [200, 'completed'],
    [404, 'failed'],
  ])
  expect((await sendEvents([])).status).toBe(400)
  expect((await sendEvents([good], '2.1', alice)).status).toBe(403)
})

test.each<[string, Microversion, Microversion]>([
  ['volume-extended', '2.50', '2.51'],
  ['power-update', '2.75', '2.76'],
  ['accelerator-request-bound', '2.81', '2.82'],
  ['volume-reimaged', '2.92', '2.93'],
])('%s is unknown at %s and known at %s', async (name, before, since) => {
  const event = { name, server_uuid: id, tag: 'x' }
  expect((await sendEvents([event], before)).status).toBe(400)
  expect((await sendEvents([event], since)).status).toBe(200)
})

test('an event that must name a thing and does not is refused; one that does is seen as an action', async () => {
  const event = { name: 'volume-extended', server_uuid: id }
  expect((await sendEvents([event], '2.51')).body.events[0]!.code).toBe(400)
  await sendEvents([{ ...event, tag: newId() }], '2.51')
  const params = { server_id: id }
  const { body } = await alice.call<{ instanceActions: { action: string }[] }>(
    'listInstanceActions',
    { params },
  )
  expect(body.instanceActions.map(({ action }) => action)).toContain('extend_volume')
})

test('a port is as its event says', async () => {
  const { db } = world.api.gateway
  const [port] = await portsOfServer(db, id)
  const statusAfter = async (name: string, server_uuid = id) => {
    await sendEvents([{ name, server_uuid, tag: port!.id }])
    return (await findPorts(db, [port!.id]))[0]?.status
  }
  expect(await statusAfter('network-vif-unplugged')).toBe('DOWN')
  expect(await statusAfter('network-vif-plugged')).toBe('ACTIVE')
  expect(await statusAfter('network-vif-unplugged', newId())).toBe('ACTIVE')
})
