import { Failure } from './errors.ts'

/** The outcome of `work`, or a failure after `ms`. The work itself continues: only for work that cannot be aborted. */
export async function withDeadline<T>(
  ms: number,
  work: Promise<T>,
  failure: () => Error = () => new Failure('unavailable', `There was no answer within ${ms} ms.`),
): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(failure()), ms)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
