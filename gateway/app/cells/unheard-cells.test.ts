import { expect, test } from 'vitest'
import type { Cell } from '../../cell-client/cell.ts'
import { sampleCell } from './testing.ts'
import { refuseAllUnreachable, refuseUnheard } from './unheard-cells.ts'

const SILENT = { isReachable: false }
const LOST = { isReachable: false, isLost: true }

test.each<[string, Partial<Cell>[], boolean]>([
  ['one can be reached', [{}, SILENT], false],
  ['none can be reached', [SILENT, SILENT], true],
  ['those that can be reached take nothing new', [{ isEnabled: false }, SILENT], true],
  ['one was lost and none of the others can be reached', [LOST, SILENT], true],
  ['all were lost', [LOST, LOST], false],
  ['there is none', [], false],
])('where %s, a request waits for cells only if some may come back', (_, changes, isRefused) => {
  const cells = changes.map((change, index) => sampleCell(`cell-${index}`, {}, change))
  const refusal = () => refuseAllUnreachable(cells)

  if (isRefused) expect(refusal).toThrow('No cell can be reached at the moment.')
  else expect(refusal).not.toThrow()
})

test.each<[string, Partial<Cell>, boolean, boolean]>([
  ['has not been heard yet', SILENT, false, true],
  ['is unreachable', SILENT, true, false],
  ['is heard', {}, false, false],
  ['takes nothing new', { ...SILENT, isEnabled: false }, false, false],
  ['was lost', LOST, false, false],
])(
  'a cell that %s is waited for only if it may still be heard',
  (_, change, isUnreachable, isRefused) => {
    const refusal = () =>
      refuseUnheard({ isUnreachable: () => isUnreachable }, [sampleCell('north', {}, change)])

    if (isRefused) expect(refusal).toThrow('Cell north has not been heard yet.')
    else expect(refusal).not.toThrow()
  },
)
