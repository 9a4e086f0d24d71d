import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure, isFailure } from '#common/errors.ts'
import { ifAbsent } from '#common/if-absent.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { writeDurably } from '../records.ts'
import type { NestedSettings } from '../settings.ts'

/** A request to create that the cloud has not answered. */
interface Pending {
  /** Sent with the request, so that a cloud that knows it creates once. */
  readonly key: string
  /** Epoch milliseconds. */
  readonly sentAt: number
}

/**
 * The requests of a host to create volumes and snapshots whose outcome it does not know, by our id, on disk before they are
 * sent: a volume that comes late is neither made a second time nor left behind.
 */
export class PendingCreates {
  readonly #folder: string
  readonly #cloud: Cloud
  readonly #settings: NestedSettings

  private constructor(folder: string, cloud: Cloud, settings: NestedSettings) {
    this.#folder = folder
    this.#cloud = cloud
    this.#settings = settings
  }

  static async open(
    stateDirectory: string,
    cloud: Cloud,
    settings: NestedSettings,
  ): Promise<PendingCreates> {
    const folder = join(stateDirectory, 'volumes')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // Of writes that were cut off nothing was sent.
    for (const name of await readdir(folder))
      if (name.endsWith('.part')) await rm(join(folder, name), { force: true })
    return new PendingCreates(folder, cloud, settings)
  }

  /**
   * Sends the request, once unless the cloud knows its key or an earlier one can make nothing any more. Throws `unavailable`
   * while it is unknown whether it was carried out; after any other failure it was not.
   */
  async send<T>(
    id: string,
    what: string,
    signal: AbortSignal,
    request: (key: string) => Promise<T>,
  ): Promise<T> {
    const before = await this.#read(id)
    if (before !== undefined && !this.#cloud.isWeir) this.#refuseUnsettled(before, what)
    signal.throwIfAborted()
    const { key } = before ?? { key: randomUUID() }
    await writeDurably(this.#path(id), JSON.stringify({ key, sentAt: Date.now() }))
    try {
      const answer = await request(key)
      await this.forget(id)
      return answer
    } catch (error) {
      // Cut off while it waited for its turn: nothing was sent.
      const isUnsent = signal.aborted && error === signal.reason
      const isRefused = isFailure(error) && error.kind !== 'unavailable'
      if (before === undefined && (isUnsent || isRefused)) await this.forget(id)
      throw error
    }
  }

  /** Throws `unavailable` while a request that was not answered may still be carried out. */
  async refusePending(id: string, what: string): Promise<void> {
    const pending = await this.#read(id)
    if (pending !== undefined) this.#refuseUnsettled(pending, what)
  }

  /** Afterwards the outcome is known. */
  forget(id: string): Promise<void> {
    return rm(this.#path(id), { force: true })
  }

  #refuseUnsettled({ sentAt }: Pending, what: string): void {
    const until = sentAt + this.#settings.createSettlesMs
    if (Date.now() >= until) return
    throw new Failure(
      'unavailable',
      `The nested cloud has not answered whether it created the ${what}.`,
      { detail: `it is asked again at ${new Date(until).toISOString()} unless it shows up before` },
    )
  }

  async #read(id: string): Promise<Pending | undefined> {
    const text = await readFile(this.#path(id), 'utf8').catch(ifAbsent(undefined))
    return text === undefined ? undefined : (JSON.parse(text) as Pending)
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.json`)
  }
}
