import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { KeyedLock } from './keyed-lock.ts'

/** One operation at a time per instance, except that a destroy does not wait for a spawn to end by itself. */
export class InstanceLocks {
  readonly #lock = new KeyedLock<InstanceId>()
  readonly #spawns = new Map<InstanceId, Set<AbortController>>()

  /** Runs `work` alone for this instance. */
  async run<T>(id: InstanceId, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#lock.run(id, signal, work)
  }

  /** As `run`, with a signal that also aborts when the instance is destroyed meanwhile. */
  async runSpawn<T>(
    id: InstanceId,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const overtaken = new AbortController()
    const spawns = this.#spawns.get(id) ?? new Set()
    this.#spawns.set(id, spawns.add(overtaken))
    const either = AbortSignal.any([signal, overtaken.signal])
    try {
      return await this.#lock.run(id, either, () => work(either))
    } finally {
      spawns.delete(overtaken)
      if (spawns.size === 0) this.#spawns.delete(id)
    }
  }

  /** As `run`, after ending every spawn of the instance that is under way: they throw `conflict`. */
  async runDestroy<T>(id: InstanceId, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (const spawn of this.#spawns.get(id) ?? [])
      spawn.abort(new Failure('conflict', `Instance ${id} was destroyed while it was spawned.`))
    return this.#lock.run(id, signal, work)
  }
}
