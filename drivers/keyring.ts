import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import { KeyedLock } from './keyed-lock.ts'
import type { VolumeKey, VolumeKeys } from './volumes.ts'

/** Tells a backend of keys that are held. Each may be repeated. */
export interface KeyPlace {
  /** Afterwards the backend has the key, in its memory alone. */
  keep(id: VolumeId, key: string, signal: AbortSignal): Promise<void>
  /** Afterwards it does not. */
  forget(id: VolumeId, signal: AbortSignal): Promise<void>
}

/** The keys that this process was given, each of which its backend has as well while somebody holds it. */
export class Keyring implements VolumeKeys {
  readonly #place: KeyPlace | undefined
  readonly #kept = new Map<VolumeId, { readonly key: string; readonly holders: Set<string> }>()
  /** Held while the backend is told of a key. */
  readonly #telling = new KeyedLock<VolumeId>()

  /** Without a place the keys are here alone. */
  constructor(place?: KeyPlace) {
    this.#place = place
  }

  async hold(holder: string, keys: readonly VolumeKey[], signal: AbortSignal): Promise<void> {
    for (const { id, key } of keys)
      await this.#telling.run(id, signal, async () => {
        const { holders } = this.#kept.get(id) ?? { holders: new Set() }
        // Each time: a backend that was restarted has forgotten it.
        await this.#place?.keep(id, key, signal)
        this.#kept.set(id, { key, holders: holders.add(holder) })
      })
  }

  async drop(holder: string, signal: AbortSignal): Promise<void> {
    const held = [...this.#kept].filter(([, { holders }]) => holders.has(holder))
    for (const [id] of held)
      await this.#telling.run(id, signal, async () => {
        const kept = this.#kept.get(id)
        if (kept?.holders.delete(holder) !== true || kept.holders.size > 0) return
        this.#kept.delete(id)
        await this.#place?.forget(id, signal)
      })
  }

  /** Throws `conflict` for a volume whose key the host does not have. */
  keyOf(id: VolumeId): string {
    const kept = this.#kept.get(id)
    if (kept !== undefined) return kept.key
    throw new Failure('conflict', `Volume ${id} is encrypted, and its key was not sent along.`)
  }
}
