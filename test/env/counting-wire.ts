import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'

/** A wire to a server that counts the bytes that come back; connections are refused until `to` names the server. */
export class CountingWire implements AsyncDisposable {
  readonly url: string
  /** From the server, headers included. */
  bytes = 0
  to: string | undefined
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('connection', (client) => {
      if (this.to === undefined) {
        client.destroy()
        return
      }
      const { hostname, port } = new URL(this.to)
      const upstream = connect(Number(port), hostname)
      upstream.on('data', (chunk: Buffer) => {
        this.bytes += chunk.length
      })
      const end = () => {
        client.destroy()
        upstream.destroy()
      }
      for (const socket of [client, upstream]) socket.on('error', end).on('close', end)
      client.pipe(upstream).pipe(client)
    })
  }

  static async open(): Promise<CountingWire> {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return new CountingWire(server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.to = undefined
    const closed = once(this.#server, 'close')
    this.#server.close()
    await closed
  }
}
