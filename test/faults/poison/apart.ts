import { installFastResolver } from '#common/install-fast-resolver.ts'
import type { ApartSaga } from '#common/saga/execute-apart.ts'

installFastResolver()
const { serveApart } = await import('#common/apart/serve-apart.ts')
const { systemClock } = await import('#common/clock.ts')
const { createLogger } = await import('#common/log.ts')
const { executeApart } = await import('#common/saga/execute-apart.ts')
const { openDatabase, SAGAS } = await import('./sagas.ts')

const log = createLogger('poison', 'silent')
await serveApart(log, async () => {
  const db = openDatabase()
  const engine = { db, deps: { isFirst: false }, sagas: SAGAS, clock: systemClock, log }
  return {
    work: (task, signal) => executeApart(engine, task as unknown as ApartSaga, signal),
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
})
