import type { Reconciler } from '#common/reconciler.ts'
import type { Cell } from '../cell.ts'

/** It is woken where there is something for it. */
const EVERY_MS = 10_000

/** Takes up sagas that rested, and those of processes that are gone. */
export function sagaRecovery({ sagas }: Cell): Reconciler {
  return {
    name: 'saga-recovery',
    everyMs: EVERY_MS,
    round: async () => ({ adopted: await sagas.recover() }),
  }
}
