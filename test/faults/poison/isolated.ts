import { installFastResolver } from '#common/install-fast-resolver.ts'
import type { Poison } from '#common/isolated/testing.ts'
import type { IsolatedSaga } from '#common/saga/execute-isolated.ts'
import type { IsolatedRow } from '#gateway/app/reconcilers/row-reconciler.ts'

installFastResolver()
const { serveIsolated } = await import('#common/isolated/serve-isolated.ts')
const { systemClock } = await import('#common/clock.ts')
const { createLogger } = await import('#common/log.ts')
const { executeIsolated } = await import('#common/saga/execute-isolated.ts')
const { workIsolated } = await import('#gateway/app/reconcilers/row-reconciler.ts')
const { poisonedRows } = await import('./rows.ts')
const { openDatabase, SAGAS } = await import('./sagas.ts')

const rowPoison = process.env['POISON_ROW'] as Poison | undefined
const log = createLogger('poison', 'silent')
await serveIsolated(log, async () => {
  const db = openDatabase()
  const engine = { db, deps: { isFirst: false }, sagas: SAGAS, clock: systemClock, log }
  return {
    work: (task, signal) =>
      rowPoison === undefined
        ? executeIsolated(engine, task as unknown as IsolatedSaga, signal)
        : workIsolated(poisonedRows(rowPoison), task as unknown as IsolatedRow, signal),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
})
