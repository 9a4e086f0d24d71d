import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'

export interface Answer {
  readonly status: number
  readonly head: string
  readonly body: Buffer
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /\r\ncontent-length: *(\d+)/i
const STATUS_AT = 9
const ANSWER_LIMIT_MS = 60_000

/**
 * One kept-alive connection, one request at a time. An HTTP client of its own because a general one costs as much as
 * the server it measures; it reads what both sides send: answers of a stated length, or none.
 */
export class Connection implements Disposable {
  readonly #socket: Socket
  #received: Buffer[] = []
  #size = 0
  #needed = 0
  #settle: ((error: Error | undefined, answer?: Answer) => void) | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setTimeout(ANSWER_LIMIT_MS, () => socket.destroy(new Error('No answer in time')))
    socket.on('data', (chunk) => this.#read(chunk))
    socket.on('error', (error) => this.#settle?.(error))
    socket.on('close', () => this.#settle?.(new Error('The connection was closed')))
  }

  static async open(origin: URL): Promise<Connection> {
    const socket = createConnection({
      host: origin.hostname,
      port: Number(origin.port),
      noDelay: true,
    })
    await once(socket, 'connect')
    return new Connection(socket)
  }

  ask(request: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#settle = (error, answer) => {
        this.#settle = undefined
        if (answer === undefined) reject(error)
        else resolve(answer)
      }
      this.#socket.write(request)
    })
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    this.#received.push(chunk)
    this.#size += chunk.length
    if (this.#size < this.#needed) return
    const bytes = this.#received.length === 1 ? chunk : Buffer.concat(this.#received)
    const headEnd = bytes.indexOf(HEAD_END)
    if (headEnd === -1) return
    const head = bytes.toString('latin1', 0, headEnd)
    const bodyAt = headEnd + HEAD_END.length
    this.#needed = bodyAt + Number(LENGTH.exec(head)?.[1] ?? 0)
    if (this.#size < this.#needed) return
    this.#received = []
    this.#size = 0
    this.#needed = 0
    const status = Number(head.slice(STATUS_AT, STATUS_AT + 3))
    this.#settle?.(undefined, { status, head, body: bytes.subarray(bodyAt) })
  }
}
