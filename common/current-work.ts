import { AsyncLocalStorage } from 'node:async_hooks'
import type { WorkContext } from './context.ts'

const storage = new AsyncLocalStorage<WorkContext>()

/** Does `work`; the work, and all work that it begins, belongs to this context. */
export function withinWork<T>(context: WorkContext, work: () => T): T {
  return storage.run(context, work)
}

/** The work that the caller is part of, for calls to other services; undefined for work that no request began. */
export function currentWork(): WorkContext | undefined {
  return storage.getStore()
}
