import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newId } from '#common/ids.ts'
import type { ImageFile } from '#drivers/driver.ts'

/** An image service that counts the bytes it sends, and can be told to wait or to fail. */
export class ImageGateway implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  readonly #contents = new Map<string, Buffer>()
  sentBytes = 0
  requests = 0
  /** Bytes after which every answer waits for `release`. */
  waitsAfter = Number.POSITIVE_INFINITY
  status = 200
  #release = Promise.withResolvers<void>()

  private constructor(server: Server) {
    this.#server = server
    this.url = `${urlOf(server)}/image`
  }

  static async open(): Promise<ImageGateway> {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const gateway = new ImageGateway(server)
    server.on('request', ({ url = '', headers }, response) => {
      const content = gateway.#contents.get(url.split('/').at(-2) ?? '')
      const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0)
      void gateway.#answer(content ?? Buffer.alloc(0), from, response)
    })
    return gateway
  }

  add(content: Buffer): ImageFile {
    const id: ImageFile['id'] = newId()
    const sha256 = createHash('sha256').update(content).digest('hex')
    this.#contents.set(id, content)
    return { id, sha256, sizeBytes: content.length, ticket: 'v1.ticket' }
  }

  release(): void {
    this.waitsAfter = Number.POSITIVE_INFINITY
    this.#release.resolve()
    this.#release = Promise.withResolvers()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #answer(content: Buffer, from: number, response: ServerResponse): Promise<void> {
    this.requests += 1
    const body = content.subarray(from)
    if (this.status !== 200) return void response.writeHead(this.status).end()
    response.writeHead(from === 0 ? 200 : 206, { 'content-length': body.length })
    const first = body.subarray(0, this.waitsAfter)
    response.write(first)
    if (first.length < body.length) await this.#release.promise
    response.end(body.subarray(first.length))
    this.sentBytes += body.length
  }
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
