import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'

export interface HttpCall {
  readonly port: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
}

export interface HttpAnswer {
  /** 0: there was none, or it broke off. */
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** Why there was none. */
  readonly error: string
  readonly startMs: number
  readonly endMs: number
}

/** Longer than a gateway may take to answer that it cannot. */
const LIMIT_MS = 30_000
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

/** One request over a connection of the pool; never throws. */
export function callHttp({ port, method, path, headers, body }: HttpCall): Promise<HttpAnswer> {
  const startMs = performance.now()
  const { promise, resolve } = Promise.withResolvers<HttpAnswer>()
  const end = (status: number, more: Partial<HttpAnswer>) => {
    clearTimeout(timer)
    resolve({
      status,
      headers: {},
      text: '',
      error: '',
      ...more,
      startMs,
      endMs: performance.now(),
    })
  }
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const options = {
    host: '127.0.0.1',
    port,
    method,
    path,
    agent,
    headers: { ...headers, ...length },
  }
  const sent = request(options, (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('error', (error) => end(0, { error: error.message }))
    response.on('end', () =>
      end(response.statusCode ?? 0, {
        headers: response.headers,
        text: Buffer.concat(chunks).toString(),
      }),
    )
  })
  const timer = setTimeout(() => sent.destroy(new Error(`no answer in ${LIMIT_MS} ms`)), LIMIT_MS)
  sent.on('error', (error: NodeJS.ErrnoException) => end(0, { error: error.code ?? error.message }))
  sent.end(body)
  return promise
}

/** The parsed body of an answer; undefined if it is not JSON. */
export function jsonOf({ text }: Pick<HttpAnswer, 'text'>): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}
