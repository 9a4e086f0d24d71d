import { readFile } from 'node:fs/promises'
import net from 'node:net'
import tls from 'node:tls'
import { Failure } from '#common/errors.ts'

/** The files with which a client authenticates itself to a database behind TLS. */
export interface TlsFiles {
  readonly caFile: string
  readonly certificateFile: string
  readonly keyFile: string
}

export interface ConnectOptions {
  /** An address as the tools of OVS write it: `unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT`. */
  readonly address: string
  readonly tls?: TlsFiles
  /** Called with each request of the server that expects no answer. */
  readonly onNotification: (method: string, params: readonly unknown[]) => void
  readonly onClosed: (error: Error | undefined) => void
}

interface Message {
  readonly id: unknown
  readonly method?: string
  readonly params?: readonly unknown[]
  readonly result?: unknown
  readonly error?: unknown
}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

const CONNECT_LIMIT_MS = 5_000
const PORT_MAX = 65_535
const ANSWER_LIMIT_MS = 10_000
/** More than any database here has; a peer that sends more is broken. */
const MESSAGE_BYTES_MAX = 256 * 1024 * 1024

/** One connection to an OVSDB server: JSON-RPC 1.0 over a stream (RFC 7047, section 4). */
export class OvsdbConnection implements Disposable {
  readonly #socket: net.Socket
  readonly #waiting = new Map<number, Waiting>()
  #nextId = 1

  private constructor(socket: net.Socket, { onNotification, onClosed }: ConnectOptions) {
    this.#socket = socket
    let failure: Error | undefined
    const split = splitMessages((text) =>
      this.#receive(JSON.parse(text) as Message, onNotification),
    )
    socket.on('data', (chunk: Buffer) => {
      try {
        split(chunk)
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    socket.on('error', (error) => (failure = error))
    socket.on('close', () => {
      const lost = new Failure('unavailable', 'The connection to the OVSDB server was lost.', {
        cause: failure,
      })
      for (const { reject } of this.#waiting.values()) reject(lost)
      this.#waiting.clear()
      onClosed(failure)
    })
  }

  /** Throws `invalid` for a malformed address, `unavailable` if no server answers. */
  static async open(options: ConnectOptions): Promise<OvsdbConnection> {
    const socket = await connected(options)
    return new OvsdbConnection(socket, options)
  }

  /**
   * The server's answer. Throws `unavailable` when none comes, `internal` when the server refuses the request, and the
   * signal's reason when aborted; the server may then have carried it out all the same.
   */
  async call(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted()
    const id = this.#nextId++
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const late = new Failure('unavailable', `The OVSDB server did not answer '${method}' in time.`)
    const timer = setTimeout(() => reject(late), ANSWER_LIMIT_MS)
    const abort = () => reject(signal!.reason as Error)
    signal?.addEventListener('abort', abort, { once: true })
    this.#waiting.set(id, { resolve, reject })
    try {
      if (this.#socket.destroyed)
        throw new Failure('unavailable', 'The connection to the OVSDB server was lost.')
      this.#socket.write(JSON.stringify({ method, params, id }))
      return await promise
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      this.#waiting.delete(id)
    }
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  #receive(message: Message, onNotification: ConnectOptions['onNotification']): void {
    const { id, method, params = [], result, error } = message
    // The server closes a connection that does not answer its probes.
    if (method === 'echo') this.#socket.write(JSON.stringify({ id, result: params, error: null }))
    else if (method !== undefined) onNotification(method, params)
    else if (error === null || error === undefined) this.#waiting.get(id as number)?.resolve(result)
    else
      this.#waiting
        .get(id as number)
        ?.reject(new Failure('internal', `The OVSDB server refused: ${JSON.stringify(error)}`))
  }
}

async function connected({ address, tls: files }: ConnectOptions): Promise<net.Socket> {
  const place = placeOf(address)
  const socket =
    place.isTls === true
      ? tls.connect({ ...place, ...(await secretsOf(files)), checkServerIdentity: () => undefined })
      : net.connect(place)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const late = new Error(`no answer within ${CONNECT_LIMIT_MS} ms`)
  const timer = setTimeout(() => socket.destroy(late), CONNECT_LIMIT_MS)
  socket.once(place.isTls === true ? 'secureConnect' : 'connect', resolve).once('error', reject)
  try {
    await promise
    return socket
  } catch (cause) {
    throw new Failure('unavailable', `The OVSDB server at ${address} cannot be reached.`, { cause })
  } finally {
    clearTimeout(timer)
    socket.off('error', reject)
  }
}

/** The server's certificate is checked against the CA but not its name: in OVN it names a chassis. */
async function secretsOf(files: TlsFiles | undefined) {
  if (files === undefined)
    throw new Failure(
      'invalid',
      'An ssl: address of an OVSDB server needs a CA, a certificate and a key.',
    )
  const read = async (file: string) => {
    try {
      return await readFile(file)
    } catch (cause) {
      throw new Failure('invalid', `Cannot read ${file}, a file for TLS to the OVSDB server.`, {
        cause,
      })
    }
  }
  const { caFile, certificateFile, keyFile } = files
  return {
    ca: await read(caFile),
    cert: await read(certificateFile),
    key: await read(keyFile),
  }
}

function placeOf(
  address: string,
): { path: string; isTls?: false } | { host: string; port: number; isTls: boolean } {
  const [, scheme, rest = ''] = /^(unix|tcp|ssl):(.+)$/.exec(address) ?? []
  if (scheme === 'unix') return { path: rest }
  const at = rest.lastIndexOf(':')
  const port = Number(rest.slice(at + 1))
  if (scheme !== undefined && at > 0 && Number.isInteger(port) && port > 0 && port <= PORT_MAX)
    return { host: rest.slice(0, at).replace(/^\[|\]$/g, ''), port, isTls: scheme === 'ssl' }
  throw new Failure(
    'invalid',
    `'${address}' is not the address of an OVSDB server. Write unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT.`,
  )
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d]

/** Calls `each` with every JSON object of a stream without separators. */
export function splitMessages(each: (text: string) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let length = 0
  let depth = 0
  let isText = false
  let isEscaped = false
  return (chunk) => {
    let start = 0
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at]
      if (isText) {
        if (isEscaped) isEscaped = false
        else if (byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) isText = false
      } else if (byte === QUOTE) isText = true
      else if (byte === OPEN) depth += 1
      else if (byte === CLOSE && --depth === 0) {
        parts.push(chunk.subarray(start, at + 1))
        const whole = Buffer.concat(parts).toString('utf8')
        parts = []
        length = 0
        start = at + 1
        each(whole)
      }
    }
    if (start === chunk.length) return
    parts.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > MESSAGE_BYTES_MAX)
      throw new Error(`a message of more than ${MESSAGE_BYTES_MAX} bytes`)
  }
}
