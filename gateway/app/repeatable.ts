import { AsyncLocalStorage } from 'node:async_hooks'
import { PUT_ACTS } from '#openapi/put-acts.ts'

/** How far a request has come. */
interface Progress {
  /** It may have changed something, here or in a cell. */
  mayHaveChanged: boolean
  /** It has an idempotency key: a repeat changes nothing more. */
  isKeyed: boolean
}

const current = new AsyncLocalStorage<Progress>()

/** True where a repeat of the request changes nothing more. */
export function isIdempotent(method: string, path: string): boolean {
  return method === 'GET' || method === 'HEAD' || (method === 'PUT' && !PUT_ACTS.test(path))
}

/** Does the work of a request; `mayRepeat` tells whether another gateway may then do it again from its start. */
export function tracked<T>(isIdempotent: boolean, work: (mayRepeat: () => boolean) => T): T {
  if (isIdempotent) return work(() => true)
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
