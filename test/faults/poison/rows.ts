import { writeSync } from 'node:fs'
import { type Poison, poison } from '#common/isolated/testing.ts'
import type { RowReconciler } from '#gateway/app/reconcilers/row-reconciler.ts'

const STDOUT = 1

/** A reconciler with two rows, one of which takes this poison; the first process works on the other for ever. */
export function poisonedRows(kind: Poison): RowReconciler<string> {
  return {
    name: 'poisoned rows',
    everyMs: 200,
    due: () => Promise.resolve(['innocent', kind]),
    keyOf: (row) => row,
    work: async (row) => {
      writeSync(STDOUT, `${row} taken\n`)
      if (row === kind) await poison(kind)
    },
  }
}
