import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '#common/db/database.ts'
import { type CellId, newId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { FeedBody } from '#openapi/wire/feed.ts'
import type { InstanceView } from '#openapi/wire/instance.ts'
import { bootedPort } from '#test/env/booted-port.ts'
import { emitRows } from '#test/env/emitted-rows.ts'
import { activeView, addCell, addServer, globalDatabase } from '#test/env/indexed-servers.ts'
import { findFloatingIp } from '../../db/floating-ips.ts'
import { findGuestPassword } from '../../db/guest-passwords.ts'
import { ports } from '../../db/schema/network.ts'
import { guestRestarts } from '../../db/schema/protections.ts'
import { floatingIps } from '../../db/schema/routing.ts'

// Goal: what a cell says of guests, and of what leads to them, is shown: the last of a batch about each, and only of its own.

let db: Database
let cell: CellId
let other: CellId

beforeAll(async () => {
  db = await globalDatabase('apply_guest_rows')
  cell = await addCell(db, 'north')
  other = await addCell(db, 'south')
})
afterAll(() => db?.[Symbol.asyncDispose]())

test.each([
  ['a guest that ended by itself is to be started again', 'stopped', POWER_STATES.crashed, 1],
  ['a guest that was stopped is not to be started', 'stopped', POWER_STATES.shutdown, 0],
  ['a server in error is not to be started', 'error', POWER_STATES.crashed, 0],
  ['a guest that runs is not to be started', 'active', POWER_STATES.running, 0],
] as const)('%s', async (_what, vmState, powerState, restarts) => {
  const server = await addServer(db, cell)
  const emit = (change: Partial<InstanceView>) =>
    emitRows(db, cell, [{ kind: 'instance', view: activeView(server, change) }])

  await emit({ version: 2 })
  await emit({ version: 3, vmState, powerState })

  expect(await db.orm.$count(guestRestarts, eq(guestRestarts.serverId, server))).toBe(restarts)
})

test('ports have the last status that their cell has for each, and none of another cell', async () => {
  const servers = [await addServer(db, cell), await addServer(db, cell)] as const
  const [one, two] = [await bootedPort(db, servers[0]), await bootedPort(db, servers[1])]
  const row = (portId: string, isUp: boolean): FeedBody => ({ kind: 'port', portId, isUp })
  const statusOf = async ({ portId }: typeof one) =>
    (await db.orm.select().from(ports).where(eq(ports.id, portId)))[0]?.status

  await emitRows(db, cell, [row(one.portId, false), row(one.portId, true), row(two.portId, true)])
  await emitRows(db, other, [row(one.portId, false)])

  expect(await statusOf(one)).toBe('ACTIVE')
  expect(await statusOf(two)).toBe('ACTIVE')
})

test('each guest has the password that it published last, at its attempt in its cell', async () => {
  const [one, two] = [await addServer(db, cell), await addServer(db, cell)]
  const row = (serverId: string, password: string, attempt = 1): FeedBody => {
    return { kind: 'guest-password', serverId, attempt, password, clears: 0 }
  }

  await emitRows(db, cell, [row(one, 'first'), row(one, 'second'), row(two, 'another')])
  await emitRows(db, cell, [row(one, 'stale', 2)])
  await emitRows(db, other, [row(one, 'forged')])

  expect(await findGuestPassword(db, one)).toBe('second')
  expect(await findGuestPassword(db, two)).toBe('another')
})

const FIXED = '10.0.0.5'

/** A floating IP that leads to the port of a server. */
async function leading(): Promise<{ readonly id: string; readonly portId: string }> {
  const { projectId, portId } = await bootedPort(db, await addServer(db, cell))
  const id = newId<string>()
  const now = new Date()
  const ids = { id, projectId, networkId: newId<string>(), portId: newId<string>() }
  const at = { createdAt: now, updatedAt: now, description: '', revision: 1 }
  const to = { address: '203.0.113.5', fixedPortId: portId, fixedAddress: FIXED }
  await db.orm.insert(floatingIps).values({ ...ids, ...at, ...to })
  return { id, portId }
}

test('floating IPs have the last status and problem that their cell has for each', async () => {
  const [one, two] = [await leading(), await leading()]
  const row = (of: typeof one, status: 'DOWN' | 'ERROR', problem: string): FeedBody => {
    return { kind: 'floating-ip', ...of, fixedAddress: FIXED, status, problem }
  }

  await emitRows(db, cell, [row(one, 'DOWN', 'late'), row(one, 'ERROR', 'taken')])
  await emitRows(db, cell, [row(one, 'ERROR', 'in use'), row(two, 'DOWN', 'no host')])
  await emitRows(db, other, [row(one, 'DOWN', 'forged')])

  const shown = { reportedStatus: 'ERROR', problem: 'in use' }
  expect(await findFloatingIp(db, one.id)).toMatchObject(shown)
  const others = { reportedStatus: 'DOWN', problem: 'no host' }
  expect(await findFloatingIp(db, two.id)).toMatchObject(others)
})
