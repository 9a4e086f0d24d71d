import { expect, test } from 'vitest'
import { type HostId, newId } from '#common/ids.ts'
import { type FenceableHost, type FencingTerms, planFencing } from './fencing-plan.ts'

const TERMS: FencingTerms = {
  afterMs: 30_000,
  downAfterMs: 5_000,
  hostsMax: 2,
  calmMs: 30_001,
  hasDevice: (name) => name !== 'bare',
  stopThemselves: false,
}
const host = (name: string, change: Partial<FenceableHost> = {}): FenceableHost => ({
  id: newId<HostId>(),
  name,
  silentMs: 100,
  servers: 1,
  isDisabled: false,
  isForcedDown: false,
  isDeviceOfOther: false,
  ...change,
})
const SILENT = { silentMs: 30_001 }
const up = (count: number) => Array.from({ length: count }, (_, nth) => host(`up-${nth}`))
const fenced = (hosts: readonly FenceableHost[]) =>
  planFencing(hosts, TERMS).fence.map(({ name }) => name)

test('a host is fenced that has not answered for long enough and has servers', () => {
  expect(fenced([host('lost', SILENT), ...up(1)])).toEqual(['lost'])
  expect(fenced([host('slow', { silentMs: 30_000 }), ...up(1)])).toEqual([])
  expect(fenced([host('empty', { ...SILENT, servers: 0 }), ...up(1)])).toEqual([])
})

test('a host without a device is fenced only where hosts stop their guests by themselves', () => {
  const hosts = [host('bare', SILENT), ...up(1)]
  const held = [{ host: hosts[0], reason: expect.stringContaining('CELL_SELF_FENCING is off') }]

  expect(planFencing(hosts, TERMS)).toEqual({ isHeld: false, fence: [], held })
  expect(planFencing(hosts, { ...TERMS, stopThemselves: true })).toEqual({
    isHeld: false,
    fence: [hosts[0]],
    held: [],
  })
  const other = [host('one', { ...SILENT, isDeviceOfOther: true }), ...up(1)]
  expect(planFencing(other, { ...TERMS, stopThemselves: true }).fence).toEqual([])
})

test('a host that is cordoned or known to be down is not fenced', () => {
  expect(fenced([host('repair', { ...SILENT, isDisabled: true }), ...up(1)])).toEqual([])
  expect(fenced([host('down', { ...SILENT, isForcedDown: true }), ...up(1)])).toEqual([])
})

test('none is fenced while more hosts do not answer than may, and each says why', () => {
  const lost = [host('a', SILENT), host('b', SILENT), host('c', { silentMs: 5_001 })]

  expect(planFencing([...lost, ...up(9)], TERMS)).toEqual({
    isHeld: true,
    fence: [],
    held: lost.slice(0, 2).map((each) => ({
      host: each,
      reason: expect.stringContaining('3 of 12 hosts do not answer, and CELL_FENCE_HOSTS_MAX is 2'),
    })),
  })
  expect(fenced([...lost.slice(0, 2), ...up(9)])).toEqual(['a', 'b'])
})

test('none is fenced because it was heard a moment earlier than others that stopped with it', () => {
  const terms = { ...TERMS, afterMs: 5_000 }
  const [first, second] = [host('a', { silentMs: 5_001 }), host('b', { silentMs: 3_501 })]

  expect(planFencing([first, second, ...up(1)], terms)).toMatchObject({
    isHeld: true,
    fence: [],
    held: [{ reason: expect.stringContaining('2 of 3 hosts do not answer') }],
  })
  // One that is late is no sign of a partition.
  expect(planFencing([first, host('b', { silentMs: 3_000 }), ...up(1)], terms).fence).toEqual([
    first,
  ])
})

test('none is fenced while most hosts do not answer', () => {
  const [reason] = planFencing([host('a', SILENT), host('b', SILENT), ...up(1)], TERMS).held

  expect(reason).toMatchObject({ reason: expect.stringContaining('more than half') })
  expect(fenced([host('alone', SILENT)])).toEqual([])
  expect(fenced([host('a', SILENT), host('b', SILENT), ...up(2)])).toEqual(['a', 'b'])
  // Hosts that are known to be down are no sign of a partition.
  expect(
    fenced([host('a', SILENT), host('b', { ...SILENT, isForcedDown: true }), ...up(1)]),
  ).toEqual(['a'])
})

test('a host that is the last to come back after many did not answer is given its time again', () => {
  const hosts = [host('last', SILENT), ...up(2)]

  expect(planFencing(hosts, { ...TERMS, calmMs: 30_000 }).fence).toEqual([])
  expect(planFencing(hosts, { ...TERMS, calmMs: 30_001 }).fence).toEqual([hosts[0]])
})

test('a host without a device is left to an operator, and says so', () => {
  const bare = host('bare', SILENT)

  expect(planFencing([bare, ...up(1)], TERMS)).toEqual({
    isHeld: false,
    fence: [],
    held: [{ host: bare, reason: expect.stringContaining('has no device of it') }],
  })
})

test('a host whose device seems to be of another machine is not fenced, and says so', () => {
  const mistaken = host('mistaken', { ...SILENT, isDeviceOfOther: true })

  expect(planFencing([mistaken, ...up(1)], TERMS)).toEqual({
    isHeld: false,
    fence: [],
    held: [{ host: mistaken, reason: expect.stringContaining('the device of another machine') }],
  })
})
