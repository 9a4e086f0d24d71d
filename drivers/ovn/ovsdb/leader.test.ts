import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { createLogger } from '#common/log.ts'
import { OvsdbServer, whyNoOvsdb } from '#test/env/ovsdb-server.ts'
import { OvsdbDatabase } from './database.ts'

// Goal: a cell follows the leader of a cluster of three, and keeps writing after any one of them has died.

const NAME = 'OVN_Northbound'
const why = whyNoOvsdb()

describe.skipIf(why !== undefined)(`a cluster of OVSDB servers ${why ?? ''}`, () => {
  let servers: OvsdbServer[] = []
  let database: OvsdbDatabase

  const open = (members: readonly OvsdbServer[]) =>
    OvsdbDatabase.open({
      address: members.map(({ address }) => address).join(', '),
      name: NAME,
      tables: { Logical_Switch: ['name'] },
      clock: systemClock,
      log: createLogger('raft', 'silent'),
    })
  const names = () =>
    [...database.table('Logical_Switch').values()].map(({ name }) => name as string)
  /** A write that finds no leader is repeated, and its outcome is seen. */
  const write = async (name: string) => {
    const row = { op: 'insert', table: 'Logical_Switch', row: { name } }
    await expect
      .poll(async () => {
        if (!names().includes(name)) await database.transact([row]).catch(() => {})
        return names()
      })
      .toContain(name)
  }

  beforeAll(async () => {
    servers = await OvsdbServer.startCluster(3)
    // The leader is the last that is asked.
    database = await open(servers.toReversed())
  })
  afterAll(async () => {
    await database?.[Symbol.asyncDispose]()
    for (const server of servers) await server[Symbol.asyncDispose]()
  })

  test('it is whole from the start, so that it bears the loss of a member', async () => {
    expect(await Promise.all(servers.map((server) => server.members()))).toEqual([3, 3, 3])
  })

  test('the leader is found behind members that are not', async () => {
    await write('first')

    expect(names()).toEqual(['first'])
  })

  test('a follower alone of several addresses is refused', async () => {
    const [, second, third] = servers

    await expect(open([second!, third!])).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('is not the leader'),
    })
  })

  test('after the leader has died another is followed, and nothing is lost', async () => {
    servers[0]!.signal('SIGKILL')

    await write('second')
    expect(names()).toEqual(expect.arrayContaining(['first', 'second']))

    await servers[0]!.up()
    await write('third')
  })

  test('a leader that was frozen, and has lost the lead meanwhile, is left', async () => {
    let connections = 0
    const roles = await Promise.all(servers.map((server) => server.role()))
    const leader = servers[roles.indexOf('leader')]!
    const others = servers.filter((server) => server !== leader)
    const othersRoles = () => Promise.all(others.map((server) => server.role()))
    const stop = database.onChange(() => {
      connections += 1
    })

    leader.signal('SIGSTOP')
    await expect.poll(othersRoles).toContain('leader')
    leader.signal('SIGCONT')

    await expect.poll(() => connections).toBeGreaterThan(0)
    stop()
    await write('fourth')
  })
})
