import { AsyncLocalStorage } from 'node:async_hooks'
import { errorChain } from './errors.ts'
import { errorFields, type Logger } from './log.ts'

/** Durable work that a process is doing, and would resume after a restart. */
export interface Task {
  /** Afterwards no process takes it up by itself. `why` is a sentence. */
  setAside(why: string): Promise<void>
}

const storage = new AsyncLocalStorage<Task>()
const SET_ASIDE_LIMIT_MS = 5_000
const EXIT_CODE = 1

/** Does `work`; an exception that escapes from it, or from what it begins, is this task's. */
export function withinTask<T>(task: Task, work: () => T): T {
  return storage.run(task, work)
}

/**
 * From now on an uncaught exception ends this process as before, but not the next one as well: the task it came from
 * is set aside first.
 */
export function endOnEscape(log: Logger): void {
  process.once('uncaughtException', (error) => {
    const fields = { ...errorFields(error), is_of_task: storage.getStore() !== undefined }
    log.fatal(fields, 'process ends: an exception escaped')
    const end = () => process.exit(EXIT_CODE)
    setTimeout(end, SET_ASIDE_LIMIT_MS)
    void setOwnTaskAside(`An exception escaped from it: ${errorChain(error)}.`)
      .catch((failure: unknown) => log.error(errorFields(failure), 'task not set aside'))
      .finally(end)
  })
}

/** Afterwards the task that the caller is part of, if any, is taken up by no process. */
export async function setOwnTaskAside(why: string): Promise<void> {
  await storage.getStore()?.setAside(why)
}
