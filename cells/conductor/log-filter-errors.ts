import { errorChain } from '#common/errors.ts'
import { errorFields, type Logger } from '#common/log.ts'

/** Texts that differ at each decision are logged again from here on, but memory does not grow. */
const LOGGED_MAX = 100
const loggedBy = new WeakMap<Logger, Set<string>>()

/** Logs the first failure of a filter with the same text: a filter that cannot judge hosts fails at every decision. */
export function logFilterErrors(log: Logger, errors: ReadonlyMap<string, unknown>): void {
  for (const [filter, error] of errors) {
    const logged = loggedBy.get(log) ?? new Set()
    loggedBy.set(log, logged)
    const what = `${filter}: ${errorChain(error)}`
    if (logged.has(what)) continue
    if (logged.size >= LOGGED_MAX) logged.clear()
    logged.add(what)
    log.error(
      { filter, ...errorFields(error) },
      'filter failed: it refuses the hosts it cannot judge',
    )
  }
}
