import { expect, test } from 'vitest'
import { WIRE_VERSION } from '#openapi/wire.ts'
import { examineUpgrade } from './examine-upgrade.ts'

type Cells = Parameters<typeof examineUpgrade>[1]

const saying = (
  release: string | null,
  wire_versions: number[],
  isReachable = true,
): Cells[number] => ({
  name: 'north',
  is_alive: isReachable,
  summary: { release, wire_versions },
})

test.each([
  ['one of the same version', saying('0.1.0', [WIRE_VERSION]), 'ok', 'can stay'],
  ['one that speaks a newer one, too', saying('0.2.0', [WIRE_VERSION, WIRE_VERSION + 1]), 'ok', ''],
  ['a silent one', saying('0.1.0', [WIRE_VERSION], false), 'note', 'is unreachable'],
  ['one too far apart', saying('9.0.0', [WIRE_VERSION + 8]), 'bad', 'a release between'],
  ['a cell without a release', saying(null, []), 'note', 'does not report its release'],
  [
    'a cell that was never reachable',
    { name: 'x', is_alive: false, summary: null },
    'note',
    'has never been reachable',
  ],
] satisfies [string, Cells[number], string, string][])('%s', (_what, cell, is, what) => {
  const [, finding] = examineUpgrade('0.1.0', [cell])

  expect(finding?.is).toBe(is)
  expect(finding?.what).toContain(what)
})
