import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Failure } from '#common/errors.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { abortable } from '../../abortable.ts'
import { bootScript, liveScript } from './boot-scripts.ts'
import { type KeptBoot, LIVE_FILES } from './live-boots.ts'
import { sendFile } from './send-file.ts'
import type { RamdiskTask } from './tasks.ts'

export interface BootServerSettings {
  /** What machines reach this server under, such as `http://192.0.2.1:8480`. */
  readonly publicUrl: string
  readonly address: string
  readonly port: number
  readonly kernelPath: string
  readonly initrdPath: string
  /** For the ramdisk's kernel, beside its task; absent: none. */
  readonly kernelParameters?: string
  /** What machines boot from in place of their disks, by MAC address. */
  readonly liveBoots: () => Promise<ReadonlyMap<string, KeptBoot>>
}

interface Assignment {
  readonly token: string
  readonly task: RamdiskTask
  readonly report: PromiseWithResolvers<string>
  readonly ended: AbortController
}

const REPORT_BYTES_MAX = 64 * 1024
const TOKEN_BYTES = 24

/**
 * The server that machines boot from. A machine whose MAC address has a task gets the ramdisk and the task; any other
 * is told to boot from its next device. The token of a task is sent to its machine, so another machine on the same
 * network that pretends to be it can read the token: this network is for operators alone.
 */
export class BootServer implements AsyncDisposable {
  readonly #settings: BootServerSettings
  readonly #logger: Logger | undefined
  readonly #server: Server
  readonly #assignments = new Map<string, Assignment>()

  private constructor(settings: BootServerSettings, logger: Logger | undefined) {
    this.#settings = settings
    this.#logger = logger
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  static async start(settings: BootServerSettings, logger?: Logger): Promise<BootServer> {
    const server = new BootServer(settings, logger)
    server.#server.listen(settings.port, settings.address)
    await once(server.#server, 'listening')
    return server
  }

  /**
   * The machine's report on its task, after `begin` has made it boot from here. The machine has the task until this
   * ends. Throws `conflict` when it has another, `internal` when it reports a failure.
   */
  async run(
    macAddress: string,
    task: RamdiskTask,
    begin: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<string> {
    if (this.#assignments.has(macAddress))
      throw new Failure('conflict', `Machine ${macAddress} is busy with another task.`)
    const token = randomBytes(TOKEN_BYTES).toString('hex')
    const report = Promise.withResolvers<string>()
    report.promise.catch(() => undefined)
    const ended = new AbortController()
    this.#assignments.set(macAddress, { token, task, report, ended })
    try {
      await begin()
      return await abortable(report.promise, signal)
    } finally {
      this.#assignments.delete(macAddress)
      ended.abort()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#answer(request, response)
    } catch (error) {
      // The machine may have hung up, and asks again if it still wants an answer.
      this.#logger?.warn(errorFields(error), 'a machine was not served')
      response.destroy()
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '/' } = request
    const { pathname, searchParams } = new URL(url, 'http://machine')
    const { kernelPath, initrdPath } = this.#settings
    if (method === 'GET' && pathname === '/boot.ipxe') {
      const mac = (searchParams.get('mac') ?? '').toLowerCase()
      response.end(await this.#scriptFor(mac))
    } else if (method === 'GET' && pathname === '/ramdisk/kernel')
      await sendFile(kernelPath, request, response)
    else if (method === 'GET' && pathname === '/ramdisk/initrd')
      await sendFile(initrdPath, request, response)
    else if (pathname.startsWith('/live/')) await this.#answerLive(request, pathname, response)
    else await this.#answerTask(request, pathname, response)
  }

  /** Its task, what its server boots from, or its next device. */
  async #scriptFor(macAddress: string): Promise<string> {
    const { publicUrl, liveBoots, kernelParameters = '' } = this.#settings
    const assignment = this.#assignments.get(macAddress)
    if (assignment !== undefined)
      return bootScript(publicUrl, { ...assignment, macAddress, kernelParameters })
    const boot = (await liveBoots()).get(macAddress)
    return boot === undefined ? bootScript(publicUrl, undefined) : liveScript(publicUrl, boot)
  }

  async #answerLive(
    request: IncomingMessage,
    pathname: string,
    response: ServerResponse,
  ): Promise<void> {
    const [, , token, name] = pathname.split('/')
    const boots = [...(await this.#settings.liveBoots()).values()]
    const files = boots.find((one) => one.token === token)?.files ?? {}
    const wanted = LIVE_FILES.find((one) => one === name)
    const path = wanted && files[wanted]
    if (path !== undefined) await sendFile(path, request, response)
    else response.writeHead(404).end()
  }

  async #answerTask(
    request: IncomingMessage,
    pathname: string,
    response: ServerResponse,
  ): Promise<void> {
    const [, , token, part, nth] = pathname.split('/')
    const assignment = [...this.#assignments.values()].find((one) => one.token === token)
    if (request.method === 'GET' && assignment?.task.kind === 'write') {
      const { image, patches } = assignment.task
      const patch = part === 'patches' ? patches[Number(nth)] : undefined
      if (part === 'image') return sendFile(image.path, request, response, assignment.ended.signal)
      response.writeHead(patch === undefined ? 404 : 200).end(patch?.content)
      return
    }
    if (request.method !== 'POST' || assignment === undefined) {
      response.writeHead(404).end()
      return
    }
    const text = await bodyOf(request)
    if (part === 'done') assignment.report.resolve(text)
    else assignment.report.reject(notDone(text))
    response.end()
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk as string
    if (text.length > REPORT_BYTES_MAX) throw new Failure('too-large', 'The report is too long.')
  }
  return text
}

function notDone(detail: string): Failure {
  return new Failure('internal', 'The machine could not do its task.', { detail })
}
