import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { type HostId, newId } from '#common/ids.ts'
import type { GroupPolicy, ServerGroupRule } from '#openapi/wire/instance.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { groupHosts } from '../db/schema/placement.ts'
import { recountGroup, wrongGroups } from './audit-groups.ts'
import { claim, queueClaim } from './claim.ts'
import { groupMembersByHost, joinGroup, queueJoinGroup, queueLeaveGroup } from './group.ts'
import { putInventory } from './inventory.ts'
import { heldBy, queueRelease, release } from './release.ts'

let db: Database

beforeAll(async () => {
  const url = await migratedDatabase('groups', 'cells')
  db = new Database({ url, connectionsMax: 16 })
})

afterAll(() => db?.[Symbol.asyncDispose]())

const NOTHING = { vcpus: 0, memoryMb: 0, diskGb: 0 }
const ONE = { vcpus: 1, memoryMb: 1, diskGb: 1 }

async function hosts(count: number): Promise<readonly HostId[]> {
  const ids = Array.from({ length: count }, () => newId<HostId>())
  const total = { vcpus: 100, memoryMb: 100, diskGb: 100 }
  for (const provider of ids)
    await db.transaction((tx) =>
      putInventory(tx, { provider, name: 'host', total, ratios: { ...ONE } }),
    )
  return ids
}

const group = (policy: GroupPolicy, maxPerHost = 1): ServerGroupRule => {
  return { id: newId(), policy, maxPerHost }
}

/** A server that joins the group on the first host that takes it, as a boot does. */
const boot = (rule: ServerGroupRule, on: readonly HostId[], consumer = newId<string>()) =>
  db.transaction(async (tx) => {
    for (const host of on) {
      if (!(await joinGroup(tx, rule, host, consumer))) continue
      await claim(tx, host, consumer, NOTHING)
      return host
    }
    return undefined
  })

const full = () => new Error('full')

/** The same in a transaction of which nothing is read before it ends. */
async function bootQueued(
  rule: ServerGroupRule,
  on: readonly HostId[],
  consumer = newId<string>(),
): Promise<HostId | undefined> {
  for (const host of on) {
    const joined = db.transaction(async (tx) => {
      queueJoinGroup(tx, rule, host, { consumer, otherwise: full })
      queueClaim(tx, host, consumer, NOTHING, { otherwise: full })
    })
    if (await joined.then(isDone, isFull)) return host
  }
  return undefined
}
const isDone = () => true
const isFull = (error: Error) => {
  if (error.message !== 'full') throw error
  return false
}

const leave = (server: string) => db.transaction((tx) => release(tx, server))

async function leaveQueued(server: string): Promise<void> {
  const held = await heldBy(db, server)
  await db.transaction(async (tx) => queueRelease(tx, server, held, full))
}

const WAYS = [
  ['one statement after the other', boot, leave],
  ['queued', bootQueued, leaveQueued],
] as const

const shuffled = <T>(items: readonly T[], by: number) => [
  ...items.slice(by % items.length),
  ...items.slice(0, by % items.length),
]

test.each(WAYS)(
  'however many servers join an anti-affinity group at once, %s, a host gets no more than it may',
  async (_, boot) => {
    const on = await hosts(4)
    for (const maxPerHost of [1, 2]) {
      const rule = group('anti-affinity', maxPerHost)

      const placed = await Promise.all(
        Array.from({ length: 12 }, (_, nth) => boot(rule, shuffled(on, nth))),
      )

      expect(placed.filter((host) => host !== undefined)).toHaveLength(4 * maxPerHost)
      const members = await groupMembersByHost(db, rule.id)
      expect([...members.values()]).toEqual([maxPerHost, maxPerHost, maxPerHost, maxPerHost])
    }
  },
)

test.each(WAYS)(
  'however many servers join an affinity group at once, %s, all are on one host',
  async (_, boot) => {
    const on = await hosts(4)
    const rule = group('affinity')

    const placed = await Promise.all(
      Array.from({ length: 8 }, (_, nth) => boot(rule, shuffled(on, nth))),
    )

    expect(new Set(placed).size).toBe(1)
    expect(await groupMembersByHost(db, rule.id)).toEqual(new Map([[placed[0], 8]]))
  },
)

test.each(WAYS)(
  'a group forgets servers that left it, %s, and allows any host again once it is empty',
  async (_, boot, leave) => {
    const [first, second] = (await hosts(2)) as [HostId, HostId]
    const apart = group('anti-affinity')
    const together = group('affinity')
    const servers = [newId<string>(), newId<string>()] as const
    expect(await boot(apart, [first], servers[0])).toBe(first)
    expect(await boot(together, [first], servers[1])).toBe(first)
    expect(await boot(apart, [first])).toBeUndefined()
    expect(await boot(together, [second])).toBeUndefined()

    for (const server of [...servers, ...servers]) await leave(server)

    expect(await groupMembersByHost(db, together.id)).toEqual(new Map())
    expect(await boot(apart, [first])).toBe(first)
    expect(await boot(together, [second])).toBe(second)
  },
)

test('a server that has left its group cannot leave it again', async () => {
  const [host] = (await hosts(1)) as [HostId]
  const rule = group('anti-affinity', 2)
  const [server, other] = [newId<string>(), newId<string>()]
  for (const each of [server, other]) await boot(rule, [host], each)
  const held = await heldBy(db, server)
  await leave(server)

  const from = { groupId: rule.id, hostId: host }
  const releaseAgain = () => db.transaction(async (tx) => queueRelease(tx, server, held, full))
  const leaveAgain = () => db.transaction(async (tx) => queueLeaveGroup(tx, server, from, full))

  await expect(releaseAgain()).rejects.toThrow('full')
  await expect(leaveAgain()).rejects.toThrow('full')
  expect(await groupMembersByHost(db, rule.id)).toEqual(new Map([[host, 1]]))
})

test('wrong counters of a group are corrected', async () => {
  const [one, two] = await hosts(2)
  const rule = group('anti-affinity', 5)
  await boot(rule, [one!])
  await boot(rule, [one!])
  await boot(rule, [two!])
  expect(await wrongGroups(db)).toEqual([])
  await db.orm.update(groupHosts).set({ members: 7 }).where(eq(groupHosts.slot, one!))
  await db.orm.delete(groupHosts).where(eq(groupHosts.slot, two!))
  const empty = { groupId: newId<string>(), slot: '', hostId: one!, members: 2 }
  await db.orm.insert(groupHosts).values(empty)

  const wrong = await wrongGroups(db)
  expect(wrong).toHaveLength(2)
  for (const each of wrong) await recountGroup(db, each)

  expect(await groupMembersByHost(db, rule.id)).toEqual(
    new Map([
      [one, 2],
      [two, 1],
    ]),
  )
  const left = await db.orm.select().from(groupHosts).where(eq(groupHosts.groupId, empty.groupId))
  expect(left).toEqual([])
  expect(await wrongGroups(db)).toEqual([])
})
