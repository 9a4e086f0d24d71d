import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ifAbsent } from '#common/if-absent.ts'

/** At least as much of the newest is kept; twice as much is the most the file grows to. */
const KEPT_BYTES = 1024 ** 2

/** The newest part of a machine's output on its serial console. */
export class SerialLog {
  readonly #path: string
  #appended: Promise<void> = Promise.resolve()

  constructor(path: string) {
    this.#path = path
  }

  /** Bytes are appended in order. Bytes that the disk does not take are lost: a console does not wait. */
  append(bytes: Uint8Array): void {
    this.#appended = this.#appended.then(() => this.#append(bytes)).catch(() => undefined)
  }

  /** The newest `maxBytes` of what was given so far. */
  async newest(maxBytes: number): Promise<Uint8Array> {
    await this.#appended
    const content = await readFile(this.#path).catch(ifAbsent(Buffer.alloc(0)))
    return content.subarray(Math.max(0, content.length - maxBytes))
  }

  /** Afterwards nothing of the log is left. */
  async remove(): Promise<void> {
    await this.#appended
    await rm(this.#path, { force: true })
  }

  async #append(bytes: Uint8Array): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
    await using file = await open(this.#path, 'a', 0o600)
    await file.writeFile(bytes)
    if ((await stat(this.#path)).size < 2 * KEPT_BYTES) return
    const content = await readFile(this.#path)
    await writeFile(`${this.#path}.part`, content.subarray(-KEPT_BYTES), { mode: 0o600 })
    await rename(`${this.#path}.part`, this.#path)
  }
}
