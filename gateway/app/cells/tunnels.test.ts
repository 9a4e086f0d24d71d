import { expect, test } from 'vitest'
import type { CellId } from '#common/ids.ts'
import { type NetworkSpans, separationReason, spansWith, whyNoTunnel } from './tunnels.ts'

const cell = (
  name: string,
  transportZone: string | null = null,
  failed: readonly string[] = [],
) => ({
  id: name as CellId,
  name,
  transportZone,
  labels: {},
  taints: [],
  cannotTunnelTo: new Set(failed),
})
const spans = (...cells: readonly ReturnType<typeof cell>[]): NetworkSpans => ({
  joined: new Set(['a', 'b', 'c']),
  networks: [{ id: '1', name: 'blue', cells }],
})

test.each([
  ['of no named zone', cell('a'), cell('b'), undefined],
  ['of one zone', cell('a', 'east'), cell('b', 'east'), undefined],
  [
    'of two zones',
    cell('a', 'east'),
    cell('b', 'west'),
    "a is in transport zone 'east', and b is in transport zone 'west'",
  ],
  [
    'of which one has a zone',
    cell('a', 'east'),
    cell('b'),
    "a is in transport zone 'east', and b is in no named transport zone",
  ],
  [
    'between which a test failed',
    cell('a'),
    cell('b', null, ['a']),
    expect.stringContaining('the last test'),
  ],
])('whyNoTunnel() knows cells %s', (_what, one, other, why) => {
  expect(whyNoTunnel(one, other)).toEqual(why)
})

test('separationReason() names the network, its cells, and what hinders', () => {
  const west = cell('c', 'west')

  expect(separationReason(spans(cell('a'), cell('b')), west)).toBe(
    "cannot tunnel to all cells that network 'blue' is in (cells a, b): " +
      "c is in transport zone 'west', and a is in no named transport zone",
  )
  expect(separationReason(spans(), west)).toBeUndefined()
  expect(separationReason(spans(west), west)).toBeUndefined()
})

test('separationReason() lets a cell be that has servers on the network, and one whose hosts have no tunnels', () => {
  const west = cell('c', 'west')

  expect(separationReason(spans(cell('a'), west), west)).toBeUndefined()
  expect(separationReason(spans(cell('a')), { ...west, id: 'd' as CellId })).toBeUndefined()
})

test('spansWith() counts the server that was placed just now', () => {
  const after = spansWith(spans(), cell('a'))

  expect(separationReason(after, cell('c', 'west'))).toContain('network')
  expect(separationReason(after, cell('b'))).toBeUndefined()
  expect(spansWith(spans(), cell('d'))).toEqual(spans())
})
