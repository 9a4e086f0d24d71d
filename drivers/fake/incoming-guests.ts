import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InstanceId } from '#common/ids.ts'

const FOLDER = 'incoming'

/** What has come of guests that are to arrive: of the backend, so it outlives the process where the guests do. */
export class IncomingGuests {
  readonly #bytes = new Map<InstanceId, Buffer>()
  readonly #folder: string | undefined

  /** Without a state directory it is in memory only. */
  constructor(stateDirectory?: string) {
    if (stateDirectory === undefined) return
    this.#folder = join(stateDirectory, FOLDER)
    mkdirSync(this.#folder, { recursive: true })
    for (const id of readdirSync(this.#folder) as InstanceId[])
      this.#bytes.set(id, readFileSync(join(this.#folder, id)))
  }

  get(id: InstanceId): Buffer | undefined {
    return this.#bytes.get(id)
  }

  set(id: InstanceId, bytes: Buffer): void {
    this.#bytes.set(id, bytes)
    if (this.#folder !== undefined) writeFileSync(join(this.#folder, id), bytes)
  }

  delete(id: InstanceId): void {
    if (!this.#bytes.delete(id) || this.#folder === undefined) return
    rmSync(join(this.#folder, id), { force: true })
  }
}
