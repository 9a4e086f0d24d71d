import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { errorFields, type Logger } from '#common/log.ts'
import type { IronicSettings } from './settings.ts'

const TOKEN_BYTES = 24

type Where = Pick<IronicSettings, 'imageUrl' | 'imageAddress' | 'imagePort'>

/**
 * The server that ironic downloads images from: each under a path that cannot be guessed, for as long as it is being
 * deployed.
 */
export class ImageServer implements AsyncDisposable {
  readonly #url: string
  readonly #server: Server
  readonly #logger: Logger | undefined
  readonly #files = new Map<string, string>()

  private constructor(url: string, logger: Logger | undefined) {
    this.#url = url
    this.#logger = logger
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  static async start(
    { imageUrl, imageAddress, imagePort }: Where,
    logger?: Logger,
  ): Promise<ImageServer> {
    const server = new ImageServer(imageUrl, logger)
    server.#server.listen(imagePort, imageAddress)
    await once(server.#server, 'listening')
    return server
  }

  /** The file is served at `url` until disposed. */
  serve(path: string): Disposable & { readonly url: string } {
    const at = `/${randomBytes(TOKEN_BYTES).toString('hex')}`
    this.#files.set(at, path)
    return { url: this.#url + at, [Symbol.dispose]: () => this.#files.delete(at) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #serve({ url = '', method }: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = this.#files.get(url)
    try {
      if (path === undefined) {
        response.writeHead(404).end()
        return
      }
      // Ironic asks for the size before it has the ramdisk fetch the rest.
      response.setHeader('content-length', (await stat(path)).size)
      if (method === 'HEAD') response.end()
      else await pipeline(createReadStream(path), response)
    } catch (error) {
      // It shows in ironic's own failure as well, without the reason.
      this.#logger?.warn(errorFields(error), 'an image was not sent to ironic in whole')
      response.destroy()
    }
  }
}
