import { once } from 'node:events'
import { WebSocket } from 'ws'
import { waitFor } from '#common/wait-for.ts'

const LIMIT_MS = 30_000

/** A console as the pages of a gateway open it. */
export class ConsoleSocket implements Disposable {
  readonly socket: WebSocket
  /** Everything shown so far, Latin-1. */
  shown = ''

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data: Buffer) => {
      this.shown += data.toString('latin1')
    })
  }

  /** Opens what a console's URL leads to. Throws with the status of a refusal. */
  static async open(
    url: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ConsoleSocket> {
    const { origin, hash } = new URL(url)
    const token = new URLSearchParams(hash.slice(1)).get('token') ?? ''
    const address = `${origin.replace('http', 'ws')}/console/socket`
    const socket = new WebSocket(address, ['binary', `token.${token}`], {
      headers: { origin, ...headers },
    })
    const console = new ConsoleSocket(socket)
    await once(socket, 'open', { signal: AbortSignal.timeout(LIMIT_MS) })
    return console
  }

  send(text: string | Buffer): void {
    this.socket.send(Buffer.from(text as string))
  }

  async until(text: string): Promise<void> {
    await waitFor(`the console to show ${text}`, () => this.shown.includes(text), LIMIT_MS)
  }

  async untilClosed(): Promise<void> {
    const isClosed = () => this.socket.readyState === WebSocket.CLOSED
    await waitFor('the console to be closed', isClosed, LIMIT_MS)
  }

  [Symbol.dispose](): void {
    this.socket.terminate()
  }
}
