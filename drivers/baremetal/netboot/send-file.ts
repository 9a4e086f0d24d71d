import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'

const RANGE = /^bytes=(\d+)-(\d+)$/

/** Sends a file, or the requested range: iPXE reads a CD block by block. */
export async function sendFile(
  path: string,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  response: ServerResponse,
  signal?: AbortSignal,
): Promise<void> {
  const { size } = await stat(path)
  const [, from, to] = RANGE.exec(headers.range ?? '') ?? []
  const start = Number(from ?? 0)
  const end = Math.min(Number(to ?? size), size - 1)
  if (from !== undefined && start > end) {
    response.writeHead(416, { 'content-range': `bytes */${size}` }).end()
    return
  }
  const part = from === undefined ? {} : { 'content-range': `bytes ${start}-${end}/${size}` }
  const length = { 'content-length': end - start + 1, 'accept-ranges': 'bytes' }
  response.writeHead(from === undefined ? 200 : 206, { ...length, ...part })
  if (method === 'HEAD' || size === 0) response.end()
  else
    await pipeline(createReadStream(path, { start, end }), response, { ...(signal && { signal }) })
}
