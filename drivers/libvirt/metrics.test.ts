import { expect, test } from 'vitest'
import { cpuMetrics } from './metrics.ts'

const times = (user: number, kernel: number, idle: number, iowait: number) =>
  new Map(Object.entries({ user, kernel, idle, iowait, intr: 9 }))
const sums = (user: number, kernel: number, idle: number, iowait: number) => ({
  'cpu.user.time': user,
  'cpu.kernel.time': kernel,
  'cpu.idle.time': idle,
  'cpu.iowait.time': iowait,
})

test('the first measurement has times and no percentages', () => {
  expect(cpuMetrics(times(1, 2, 3, 4), undefined)).toEqual(sums(1, 2, 3, 4))
})

test('percentages are of the time since the one before, and waiting for disks is idleness', () => {
  expect(cpuMetrics(times(110, 220, 150, 70), times(100, 200, 100, 50))).toEqual({
    ...sums(110, 220, 150, 70),
    'cpu.user.percent': 10,
    'cpu.kernel.percent': 20,
    'cpu.idle.percent': 50,
    'cpu.iowait.percent': 20,
    'cpu.percent': 30,
  })
})

test('a machine that has started again, or whose clock stands, has no percentages', () => {
  expect(cpuMetrics(times(1, 2, 300, 4), times(10, 2, 3, 4))).toEqual(sums(1, 2, 300, 4))
  expect(cpuMetrics(times(1, 2, 3, 4), times(1, 2, 3, 4))).toEqual(sums(1, 2, 3, 4))
})

test('a state that libvirt does not count is left out', () => {
  const known = new Map([['user', 5]])
  expect(cpuMetrics(known, new Map([['user', 1]]))).toEqual({
    'cpu.user.time': 5,
    'cpu.user.percent': 100,
    'cpu.percent': 100,
  })
})
