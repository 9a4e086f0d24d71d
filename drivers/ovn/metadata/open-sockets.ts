import { type ChildProcess, fork } from 'node:child_process'
import { Server } from 'node:net'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { FromInside } from './listen-inside.ts'

const PROGRAM = join(import.meta.dirname, 'listen-inside.ts')
const PORT = 80

/**
 * Opens listening sockets at these addresses in a new network namespace, which `prepare` gives its interfaces: it gets
 * the id of a process that is in the namespace. Throws what `prepare` throws, `unsupported` where no namespace can be
 * made, and `unavailable` where the addresses cannot be listened at.
 */
export async function openSockets(
  addresses: readonly string[],
  prepare: (pid: number) => Promise<void>,
  signal: AbortSignal,
): Promise<readonly Server[]> {
  const child = fork(PROGRAM, [], {
    execPath: 'unshare',
    execArgv: ['--net', process.execPath],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  try {
    const messages = new Messages(child, signal)
    await messages.next()
    await prepare(child.pid!)
    child.send({ addresses, port: PORT })
    const servers: Server[] = []
    while (servers.length < addresses.length) servers.push(await messages.nextServer())
    return servers
  } finally {
    child.kill('SIGKILL')
  }
}

/** What the program sends, in its order. */
class Messages {
  readonly #signal: AbortSignal
  readonly #received: [FromInside, unknown][] = []
  #ended: Failure | undefined
  #wake: () => void = () => {}

  constructor(child: ChildProcess, signal: AbortSignal) {
    this.#signal = signal
    child.on('message', (message: FromInside, handle) => {
      this.#received.push([message, handle])
      this.#wake()
    })
    child.once('error', (cause) => {
      this.#end('the command unshare cannot be started', cause)
    })
    child.once('exit', (code) => this.#end(`it ended with code ${code}`))
    signal.addEventListener('abort', () => this.#wake(), { once: true })
  }

  async nextServer(): Promise<Server> {
    const [message, handle] = await this.next()
    if (handle instanceof Server) return handle
    const why = typeof message === 'object' ? message.failed : message
    throw new Failure('unavailable', 'The metadata service cannot listen for guests.', {
      detail: why,
    })
  }

  async next(): Promise<[FromInside, unknown]> {
    for (;;) {
      this.#signal.throwIfAborted()
      const received = this.#received.shift()
      if (received !== undefined) return received
      if (this.#ended !== undefined) throw this.#ended
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #end(detail: string, cause?: Error): void {
    const message =
      'No network namespace can be made for the metadata service. Run this process as root.'
    this.#ended ??= new Failure('unsupported', message, { detail, cause })
    this.#wake()
  }
}
