import type { Answer, Connection } from './connection.ts'

export interface RequestPlan {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** The bytes of a request, made once and sent often. */
export function requestBytes(plan: RequestPlan): Buffer {
  const body = plan.body === undefined ? '' : JSON.stringify(plan.body)
  const headers = {
    Host: '127.0.0.1',
    Accept: 'application/json',
    ...plan.headers,
    ...(body === '' ? {} : { 'Content-Type': 'application/json' }),
    ...(plan.method === 'GET' ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${plan.method} ${plan.path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

/** The same request for so many servers at once. */
export function manyOf(create: Buffer, servers: number): Buffer {
  return withBody(create, ({ server }) => ({
    server: { ...server, min_count: servers, max_count: servers },
  }))
}

/** The same request for a server, with a body that is made of its own. */
export function withBody(
  create: Buffer,
  change: (body: { readonly server: object }) => object,
): Buffer {
  const [head = '', body = ''] = create.toString().split('\r\n\r\n')
  const changed = JSON.stringify(change(JSON.parse(body) as { readonly server: object }))
  const size = `Content-Length: ${Buffer.byteLength(changed)}`
  return Buffer.from(`${head.replace(/Content-Length: \d+/, size)}\r\n\r\n${changed}`)
}

const SAID_CHARS = 300

/** The answer of a request that succeeded; throws with the server's words otherwise: errors are not measured. */
export async function succeed(connection: Connection, request: Buffer): Promise<Answer> {
  const answer = await connection.ask(request)
  if (answer.status < 300) return answer
  const what = request.toString('latin1').split(' HTTP', 1)[0]
  throw new Error(
    `${what} was answered ${answer.status}: ${answer.body.toString().slice(0, SAID_CHARS)}`,
  )
}
