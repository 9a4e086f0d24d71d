import { expect, test } from 'vitest'
import { RestartPlan } from './restart-plan.ts'

const alive = (name: string, pid = 1) => ({ name, isAlive: true, pid })
const dead = (name: string) => ({ name, isAlive: false, pid: undefined })
const reasonOf = (name: string) => `${name} said so`

test('a process that ends is due at once, and after each further death later, up to a minute', () => {
  const plan = new RestartPlan()
  let now = 0
  const pauses = []
  for (let death = 1; death <= 10; death += 1) {
    plan.see([dead('cell-north')], now, reasonOf)
    const from = now
    while (!plan.isDue(now)) now += 500
    pauses.push((now - from) / 1_000)
    plan.see([alive('cell-north')], now, reasonOf)
    now += 1_000
  }

  expect(pauses).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60, 60])
  expect(plan.endedProcesses()).toEqual([
    expect.objectContaining({
      name: 'cell-north',
      deaths: 10,
      isDown: false,
      nextTryAt: undefined,
    }),
  ])
})

test('a process that ran for a minute is started at once again', () => {
  const plan = new RestartPlan()
  plan.see([dead('nats')], 0, reasonOf)
  plan.see([alive('nats')], 1_000, reasonOf)
  plan.see([dead('nats')], 70_000, reasonOf)

  expect(plan.isDue(70_000)).toBe(true)
  expect(plan.endedProcesses()).toMatchObject([{ deaths: 1, reason: 'nats said so' }])
})

test('a start that fails is tried later, with its reason, and another process that ends is due at once', () => {
  const plan = new RestartPlan()
  plan.see([dead('mariadb')], 0, reasonOf)
  plan.tried(['mariadb'], 500, () => 'the disk is full')

  expect(plan.isDue(1_000)).toBe(false)
  expect(plan.endedProcesses()).toMatchObject([
    { name: 'mariadb', deaths: 2, isDown: true, nextTryAt: 1_500, reason: 'the disk is full' },
  ])
  plan.see([dead('mariadb'), dead('nats')], 1_000, reasonOf)
  expect(plan.isDue(1_000)).toBe(true)
  expect(plan.down()).toEqual(['mariadb', 'nats'])
})

test('what ends while others are started does not count as tried', () => {
  const plan = new RestartPlan()
  plan.see([dead('gateway-1')], 0, reasonOf)
  const names = plan.down()
  plan.see([alive('gateway-1'), dead('cell-north')], 1_000, () => undefined)
  plan.tried(names, 2_000, () => 'cell-north ended')

  expect(plan.isDue(2_000)).toBe(true)
  expect(plan.endedProcesses()).toMatchObject([
    { name: 'gateway-1', deaths: 1, isDown: false },
    { name: 'cell-north', deaths: 1, reason: expect.stringContaining('probably killed') },
  ])
})

test('what ended and was started between two looks has ended, unless a command was at work', () => {
  const plan = new RestartPlan()
  plan.see([alive('nats', 1), alive('mariadb', 2)], 0, reasonOf)
  plan.see([alive('nats', 3), alive('mariadb', 2)], 1_000, reasonOf)
  expect(plan.endedProcesses()).toMatchObject([
    { name: 'nats', deaths: 1, isDown: false, lastAt: 1_000 },
  ])

  plan.forgetPids()
  plan.see([alive('nats', 4), alive('mariadb', 5)], 2_000, reasonOf)
  expect(plan.endedProcesses()).toMatchObject([{ name: 'nats', deaths: 1, lastAt: 1_000 }])
  expect(plan.isDue(2_000)).toBe(false)
})

test('what the deployment does not have any more, or what has run for a day, is forgotten', () => {
  const plan = new RestartPlan()
  plan.see([dead('cell-north'), dead('nats')], 0, reasonOf)
  plan.see([alive('cell-north'), alive('nats')], 1_000, reasonOf)

  plan.see([alive('nats')], 2_000, reasonOf)
  expect(plan.endedProcesses().map(({ name }) => name)).toEqual(['nats'])
  plan.see([alive('nats')], 90_000_000, reasonOf)
  expect(plan.endedProcesses()).toEqual([])
})
