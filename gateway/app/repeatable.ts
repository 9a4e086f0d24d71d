import { AsyncLocalStorage } from 'node:async_hooks'

/** How far a request has come. */
interface Progress {
  /** It may have changed something, here or in a cell. */
  mayHaveChanged: boolean
  /** It has an idempotency key: a repeat changes nothing more. */
  isKeyed: boolean
}

const current = new AsyncLocalStorage<Progress>()

/** Methods of which a repeat changes nothing more. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT'])

/** Does the work of a request; `mayRepeat` tells whether another gateway may then do it again from its start. */
export function tracked<T>(method: string, work: (mayRepeat: () => boolean) => T): T {
  if (IDEMPOTENT.has(method)) return work(() => true)
  const progress: Progress = { mayHaveChanged: false, isKeyed: false }
  return current.run(progress, () => work(() => progress.isKeyed || !progress.mayHaveChanged))
}

/** To be called before something is changed, whether or not that succeeds. */
export function noteChange(): void {
  const progress = current.getStore()
  if (progress !== undefined) progress.mayHaveChanged = true
}

/** To be called once the request is known to have an idempotency key that is heeded. */
export function noteKey(): void {
  const progress = current.getStore()
  if (progress !== undefined) progress.isKeyed = true
}
