import { AsyncLocalStorage } from 'node:async_hooks'

const kept = new AsyncLocalStorage<true>()

/** Work that no other program can do in place of this one: it waits for a database that is given up, as long as for one that is away. */
export function keptWork<T>(work: () => T): T {
  return kept.run(true, work)
}

/** True within `keptWork`. */
export function isKeptWork(): boolean {
  return kept.getStore() === true
}
