import { expect, test } from 'vitest'
import type { Clock } from '#common/clock.ts'
import { OvnHosts } from './hosts.ts'
import type { Table } from './ovsdb/database.ts'

const SILENT_MS = 2_500

/** Two databases of three hosts, and a clock; `answer` is what a host's controller does. */
function world() {
  let now = 0
  let number = 7
  const answers = new Map([
    ['a', 7],
    ['b', 7],
    ['c', 7],
  ])
  const rows = (list: readonly object[]): Table =>
    new Map(list.map((row, index) => [String(index), row as never]))
  const config = (mappings: string, more = {}, encaps: readonly string[] = []) => ({
    encaps,
    other_config: { 'ovn-bridge-mappings': mappings, ...more },
  })
  const southbound: Readonly<Record<string, () => Table>> = {
    Chassis: () =>
      rows([
        { name: 'c', ...config('') },
        { name: 'a', ...config('physnet:br-ex, other:br-other', {}, ['0']) },
        { name: 'b', ...config('physnet:br-ex') },
        { name: 'elsewhere', ...config('', { 'is-remote': 'true' }) },
      ]),
    Encap: () => rows([{ ip: '10.9.0.1' }]),
    Chassis_Private: () => rows([...answers].map(([name, nb_cfg]) => ({ name, nb_cfg }))),
  }
  const hosts = new OvnHosts(
    {
      northbound: { table: () => rows([{ nb_cfg: number }]) },
      southbound: { table: (name) => southbound[name]!() },
    },
    { elapsed: () => now } as Clock,
    SILENT_MS,
  )
  return {
    hosts,
    /** A question, answered at once by these. */
    ask: async (...by: readonly string[]) => {
      await hosts.ask(async () => {
        number += 1
      })
      for (const name of by) answers.set(name, number)
      hosts.recordContacts()
    },
    /** An answer to the last question. */
    answer: (name: string) => {
      answers.set(name, number)
      hosts.recordContacts()
    },
    pass: (ms: number) => (now += ms),
    dead: () => hosts.list().flatMap(({ chassis, isAlive }) => (isAlive ? [] : [chassis])),
  }
}

test('hosts say for themselves which physical networks they reach; those of other cells are none of ours', () => {
  expect(world().hosts.list()).toEqual([
    {
      chassis: 'a',
      encapAddress: '10.9.0.1',
      physicalNetworks: ['physnet', 'other'],
      isAlive: true,
    },
    { chassis: 'b', encapAddress: '', physicalNetworks: ['physnet'], isAlive: true },
    { chassis: 'c', encapAddress: '', physicalNetworks: [], isAlive: true },
  ])
})

test('a host that does not answer while another does is dead after a while, until it answers', async () => {
  const { hosts, ask, pass, dead } = world()
  expect(hosts.nextDeathMs(), 'none is asked').toBeUndefined()
  await ask('a', 'b')
  expect(hosts.nextDeathMs()).toBe(SILENT_MS + 1)
  pass(SILENT_MS)
  expect(dead(), 'not yet longer than it may').toEqual([])
  expect(hosts.nextDeathMs()).toBe(1)
  pass(1)
  expect(dead()).toEqual(['c'])
  expect(hosts.nextDeathMs(), 'it is dead').toBeUndefined()

  await ask('a', 'b', 'c')
  expect(dead()).toEqual([])
})

test('no host is dead while none answers', async () => {
  const { ask, pass, dead } = world()
  await ask()
  await ask()
  pass(60_000)
  expect(dead()).toEqual([])

  await ask('a')
  expect(dead()).toEqual(['b', 'c'])
})

test('a host that has long been dead stays so over many questions, and others are judged as before', async () => {
  const { ask, pass, dead } = world()
  for (let nth = 0; nth < 500; nth += 1) {
    await ask('a', 'b')
    pass(1_000)
  }
  expect(dead()).toEqual(['c'])
  await ask('a')
  pass(SILENT_MS + 1)
  expect(dead()).toEqual(['b', 'c'])
})

test('an open question is repeated only after a while', async () => {
  const { hosts, ask, pass } = world()
  expect(hosts.isDue()).toBe(true)
  await ask()
  pass(29_999)
  expect(hosts.isDue()).toBe(false)
  pass(1)
  expect(hosts.isDue()).toBe(true)
})

test('expensive questions are asked less often, and hosts have longer to answer them', async () => {
  const { hosts, ask, answer, pass, dead } = world()
  for (let nth = 0; nth < 3; nth += 1) {
    await ask()
    pass(400)
    answer('a')
  }
  expect(hosts.isDue()).toBe(false)
  pass(20 * 400 - 401)
  expect(hosts.isDue()).toBe(false)
  pass(1)
  expect(hosts.isDue()).toBe(true)

  await ask('a', 'b', 'c')
  for (let nth = 0; nth < 3; nth += 1) {
    await ask()
    pass(1_000)
    answer('a')
  }
  pass(7_000)
  expect(dead()).toEqual([])
  pass(1)
  expect(dead()).toEqual(['b', 'c'])
})

test('a question that waited for a dead database delays neither the next one nor the death of a host', async () => {
  const { hosts, ask, answer, pass, dead } = world()
  await ask('a', 'b', 'c')
  await ask()
  pass(20_000)
  for (const name of ['a', 'b', 'c']) answer(name)

  expect(hosts.isDue()).toBe(true)
  await ask('a', 'b')
  pass(SILENT_MS + 1)
  expect(dead()).toEqual(['c'])
})
