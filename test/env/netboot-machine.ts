import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

const ASK_EVERY_MS = 100

/** A machine that people switch: it boots from the network each time, and does the task that it gets. */
export class NetbootMachine implements AsyncDisposable {
  readonly #bootUrl: string
  readonly #macAddress: string
  readonly #ending = new AbortController()
  readonly #running: Promise<void>
  /** The content of its disk; null while it is clean. */
  disk: Buffer | null = null

  constructor(bootUrl: string, macAddress: string) {
    this.#bootUrl = bootUrl
    this.#macAddress = macAddress
    this.#running = this.#run()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending
    while (!signal.aborted) {
      // The boot server is there when its host is.
      await this.#boot().catch(() => undefined)
      await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #boot(): Promise<void> {
    const script = await this.#got(`${this.#bootUrl}/boot.ipxe?mac=${this.#macAddress}`)
    const parameter = (name: string) =>
      new RegExp(`weir\\.${name}=(\\S+)`).exec(script.toString())?.[1]
    const [task, url] = [parameter('task'), parameter('url')]
    if (task === undefined || url === undefined) return
    const body = await this.#perform(task, url, parameter('patches')?.split(',') ?? [])
    await fetch(`${url}/done`, { method: 'POST', body, signal: this.#ending.signal })
  }

  async #perform(task: string, url: string, patches: readonly string[]): Promise<string> {
    if (task === 'inspect')
      return 'cpus 4\ncpu-model stand-in\narchitecture x86_64\nmemory-kib 8388608\ndisk sda 4294967296'
    this.disk = task === 'write' ? await this.#got(`${url}/image`) : null
    if (this.disk === null) return ''
    const written = [this.disk]
    for (const nth of patches.keys()) written.push(await this.#got(`${url}/patches/${nth}`))
    return written.map((content) => createHash('sha256').update(content).digest('hex')).join('\n')
  }

  async #got(url: string): Promise<Buffer> {
    const response = await fetch(url, { signal: this.#ending.signal })
    return Buffer.from(await response.arrayBuffer())
  }
}
