import { expect, test } from 'vitest'
import { type Choice, chooseWriter, isSilent, type NodeState } from './choose-writer.ts'

const well = (name: string, place: number, change: Partial<NodeState> = {}): NodeState => {
  return { name, isInCluster: true, isSynced: true, place, size: 3, elected: 'b', ...change }
}

const UNKNOWN: Choice = { is: 'unknown' }

test.each<[string, readonly NodeState[], Choice]>([
  [
    'the elected node is the writer, whatever its place',
    [well('a', 0), well('b', 1), well('c', 2)],
    { is: 'writer', url: 'b' },
  ],
  [
    'before an election the first is',
    ['a', 'b', 'c'].map((name, place) => well(name, 2 - place, { elected: undefined })),
    { is: 'writer', url: 'c' },
  ],
  [
    'a writer that is in the cluster and does not answer may answer others',
    [well('a', 0), well('c', 2)],
    UNKNOWN,
  ],
  [
    'a writer that has left the cluster is succeeded by the first synced node',
    [well('a', 0, { size: 2, isSynced: false }), well('c', 1, { size: 2 })],
    { is: 'candidate', url: 'c', insteadOf: 'b' },
  ],
  [
    'a writer that is outside the majority is succeeded too',
    [
      well('a', 0, { size: 2 }),
      well('b', 0, { isInCluster: false, size: 1 }),
      well('c', 1, { size: 2 }),
    ],
    { is: 'candidate', url: 'a', insteadOf: 'b' },
  ],
  [
    'without any node in the cluster there is none',
    [well('a', 0, { isInCluster: false })],
    UNKNOWN,
  ],
])('%s', (_, states, choice) => {
  const byUrl = new Map(states.map((state) => [state.name, state]))

  expect(chooseWriter(byUrl, false)).toEqual(choice)
})

test.each<[string, number, readonly number[], boolean]>([
  ['for long, while the others answer', 5_100, [12, 40], true],
  ['for a moment', 4_900, [12, 40], false],
  ['to a program that hears the others only now and then', 11_000, [1], false],
  ['to a program that hears one of the others only now and then', 11_000, [40, 2], false],
])('a writer says nothing %s', (_, sinceMs, answers, expected) => {
  expect(isSilent(sinceMs, answers)).toBe(expected)
})

test('a writer that does not answer for long is passed over', () => {
  const states = new Map([['c', well('c', 2)]])

  expect(chooseWriter(states, true)).toEqual({ is: 'candidate', url: 'c', insteadOf: 'b' })
})
