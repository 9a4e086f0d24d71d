import { installFastResolver } from '#common/install-fast-resolver.ts'
import type { Poison } from '#common/isolated/testing.ts'

installFastResolver()
const { IsolatedRunner } = await import('#common/isolated/isolated-runner.ts')
const { systemClock } = await import('#common/clock.ts')
const { endOnEscape } = await import('#common/escaped.ts')
const { createLogger } = await import('#common/log.ts')
const { RunningReconciler } = await import('#common/reconciler.ts')
const { SagaEngine } = await import('#common/saga/engine.ts')
const { byRow } = await import('#gateway/app/reconcilers/row-reconciler.ts')
const { poisonedRows } = await import('./rows.ts')
const { beginSagas, openDatabase, SAGAS } = await import('./sagas.ts')

// A program with sagas, as a gateway or a cell is one. Begins sagas where it is told which poison one of them takes.

const log = createLogger('poison', 'silent')
const poison = process.argv[2] as Poison | undefined
/** The poison of a row of a reconciler. */
const rowPoison = process.env['POISON_ROW'] as Poison | undefined
endOnEscape(log)
const isolated = new IsolatedRunner({
  program: new URL('isolated.ts', import.meta.url),
  log,
  heldUpAfterS: 2,
  memoryMaxMb: 256,
})
const engine = await SagaEngine.open({
  db: openDatabase(),
  deps: { isFirst: poison !== undefined },
  sagas: SAGAS,
  processName: 'poison',
  clock: systemClock,
  log,
  isolated,
})
if (rowPoison !== undefined)
  new RunningReconciler(
    byRow(poisonedRows(rowPoison), { db: openDatabase(), log, sagas: engine, isolated }),
    systemClock,
    log,
  )
else if (poison !== undefined) await beginSagas(engine, poison)
else {
  const round = async () => ({ takenUp: await engine.recover() })
  new RunningReconciler({ name: 'recovery', everyMs: 200, round }, systemClock, log)
}
