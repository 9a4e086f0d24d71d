import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { Failure } from '#common/errors.ts'

/** A CONNECT with the longest credential. */
const LINE_BYTES_MAX = 16 * 2 ** 10

/** What a peer of the bus said first. */
export interface FirstLine {
  readonly line: string
  /** All that has come, the line included. */
  readonly bytes: Buffer
}

/** Throws when no line comes that is short enough and in time. */
export async function firstLine(stream: Readable, limit: AbortSignal): Promise<FirstLine> {
  const closed = new AbortController()
  const onClose = () => closed.abort(new Failure('unauthenticated', 'The connection has ended.'))
  stream.once('close', onClose)
  const signal = AbortSignal.any([limit, closed.signal])
  let bytes = Buffer.alloc(0)
  try {
    for (;;) {
      signal.throwIfAborted()
      const chunk = stream.read() as Buffer | null
      if (chunk === null) await once(stream, 'readable', { signal })
      else bytes = Buffer.concat([bytes, chunk])
      const end = bytes.indexOf('\r\n')
      if (end >= 0) return { line: bytes.toString('utf8', 0, end), bytes }
      if (bytes.length > LINE_BYTES_MAX)
        throw new Failure('unauthenticated', 'The first line is too long.')
    }
  } finally {
    stream.off('close', onClose)
  }
}
