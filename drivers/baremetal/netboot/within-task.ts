import { Failure } from '#common/errors.ts'

/**
 * Work in the ramdisk, ended as `unavailable` when it takes longer than `taskMs`: the state of the machine is then
 * unknown.
 */
export async function withinTask<T>(
  { taskMs }: { readonly taskMs: number },
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const expired = new AbortController()
  const silent = new Failure('unavailable', 'The machine did not say that it was done.')
  const timer = setTimeout(() => expired.abort(silent), taskMs)
  try {
    return await work(AbortSignal.any([signal, expired.signal]))
  } finally {
    clearTimeout(timer)
  }
}
