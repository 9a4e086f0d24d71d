import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { KeyedLock } from './keyed-lock.ts'

/** One operation at a time per instance, except that a destroy does not wait for long work to end by itself. */
export class InstanceLocks {
  readonly #lock = new KeyedLock<InstanceId>()
  readonly #preemptible = new Map<InstanceId, Set<AbortController>>()

  /** Runs `work` alone for this instance. */
  async run<T>(id: InstanceId, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#lock.run(id, signal, work)
  }

  /** As `run`; undefined, without waiting, while other work on the instance runs or waits. */
  async runIfFree<T>(
    id: InstanceId,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T | undefined> {
    return this.#lock.isHeld(id) ? undefined : this.#lock.run(id, signal, work)
  }

  /** As `run`, with a signal that also aborts when the instance is destroyed meanwhile. */
  async runPreemptible<T>(
    id: InstanceId,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const overtaken = new AbortController()
    const running = this.#preemptible.get(id) ?? new Set()
    this.#preemptible.set(id, running.add(overtaken))
    const either = AbortSignal.any([signal, overtaken.signal])
    try {
      return await this.#lock.run(id, either, () => work(either))
    } finally {
      running.delete(overtaken)
      if (running.size === 0) this.#preemptible.delete(id)
    }
  }

  /** Like `run`, after ending all preemptible work on the instance, which then throws `conflict`. */
  async runDestroy<T>(id: InstanceId, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (const work of this.#preemptible.get(id) ?? [])
      work.abort(new Failure('conflict', `Instance ${id} was destroyed meanwhile.`))
    return this.#lock.run(id, signal, work)
  }
}
