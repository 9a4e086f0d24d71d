import { Failure } from '#common/errors.ts'

/** The same chunks; throws `invalid` when the next one takes longer than `idleMaxMs`, or the sender is gone. */
export async function* withIdleLimit(
  chunks: AsyncIterable<Uint8Array>,
  idleMaxMs: number,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await nextWithin(iterator, idleMaxMs)
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // Not awaited: a source that has gone silent may never answer.
    iterator.return?.().catch(() => undefined)
  }
}

async function nextWithin(
  iterator: AsyncIterator<Uint8Array>,
  idleMaxMs: number,
): Promise<IteratorResult<Uint8Array>> {
  const { promise: idle, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new Failure('invalid', `No data was received for ${idleMaxMs / 1000} seconds.`)),
    idleMaxMs,
  )
  try {
    return await Promise.race([iterator.next(), idle])
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure('invalid', 'The data ended too early.', { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
