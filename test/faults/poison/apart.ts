import type { Poison } from '#common/apart/testing.ts'
import { installFastResolver } from '#common/install-fast-resolver.ts'
import type { ApartSaga } from '#common/saga/execute-apart.ts'
import type { ApartRow } from '#gateway/app/reconcilers/row-reconciler.ts'

installFastResolver()
const { serveApart } = await import('#common/apart/serve-apart.ts')
const { systemClock } = await import('#common/clock.ts')
const { createLogger } = await import('#common/log.ts')
const { executeApart } = await import('#common/saga/execute-apart.ts')
const { workApart } = await import('#gateway/app/reconcilers/row-reconciler.ts')
const { poisonedRows } = await import('./rows.ts')
const { openDatabase, SAGAS } = await import('./sagas.ts')

const rowPoison = process.env['POISON_ROW'] as Poison | undefined
const log = createLogger('poison', 'silent')
await serveApart(log, async () => {
  const db = openDatabase()
  const engine = { db, deps: { isFirst: false }, sagas: SAGAS, clock: systemClock, log }
  return {
    work: (task, signal) =>
      rowPoison === undefined
        ? executeApart(engine, task as unknown as ApartSaga, signal)
        : workApart(poisonedRows(rowPoison), task as unknown as ApartRow, signal),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
})
