import type { Socket } from 'node:net'
import type { Connection } from 'mysql2/promise'
import { openNode } from './open-node.ts'

/** The connection to one node of a cluster: opened when the node is asked, and opened again after it broke. */
export class NodeConnection {
  readonly #url: string
  readonly #timeoutMs: number
  readonly #onLost: () => void
  #opened: Promise<Connection> | undefined

  /** `onLost` is called whenever the connection breaks, cannot be opened, or is ended. */
  constructor(url: string, timeoutMs: number, onLost: () => void) {
    this.#url = url
    this.#timeoutMs = timeoutMs
    this.#onLost = onLost
  }

  /** Throws what `question` throws; afterwards the connection is ended. Others whose questions wait on it then get failures too. */
  async ask<T>(question: (connection: Connection) => Promise<T>): Promise<T> {
    this.#opened ??= this.#open()
    const opened = this.#opened
    try {
      return await question(await opened)
    } catch (error) {
      this.#end(opened)
      throw error
    }
  }

  /** Afterwards no question waits, and the connection is closed, also one that is still being opened. */
  end(): void {
    if (this.#opened !== undefined) this.#end(this.#opened)
  }

  async #open(): Promise<Connection> {
    const connection = await openNode(this.#url, this.#timeoutMs)
    const own = this.#opened
    connection.on('error', () => {
      if (own !== undefined) this.#end(own)
    })
    return connection
  }

  #end(opened: Promise<Connection>): void {
    if (this.#opened !== opened) return
    this.#opened = undefined
    opened.then(breakConnection, () => undefined)
    this.#onLost()
  }
}

/** The driver's own destroy() leaves statements that wait for their turn without any answer for ever. */
function breakConnection(connection: Connection): void {
  // Not in mysql2's types, though every connection has it.
  const { connection: own } = connection as Connection & {
    readonly connection: { readonly stream: Socket }
  }
  own.stream.destroy(new Error('The connection to the database server was given up.'))
}
