import type { Clock } from '#common/clock.ts'
import type { CellId } from '#common/ids.ts'

/** Two heartbeats and a half: a process that missed more is not asked while others are there. */
const SUSPECT_AFTER_MS = 2_500
/** Of a cell. It names its processes itself: above this those are forgotten that were asked longest ago. */
const PROCESSES_MAX = 64

/**
 * The processes of cells, by their heartbeats. NATS keeps routing requests to a process that hangs, and each of these
 * is lost until its deadline; a gateway avoids that by choosing a process that has reported lately.
 */
export class LiveProcesses {
  readonly #clock: Clock
  /** By cell, the id of each process and the time of its last heartbeat, in the order of their last requests. */
  readonly #heartbeats = new Map<CellId, Map<string, number>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  recordHeartbeat(cell: CellId, processId: string): void {
    const processes = this.#heartbeats.get(cell) ?? new Map<string, number>()
    this.#heartbeats.set(cell, processes.set(processId, this.#clock.elapsed()))
    const [first] = processes.keys()
    if (first !== undefined && processes.size > PROCESSES_MAX) processes.delete(first)
  }

  forget(cell: CellId): void {
    this.#heartbeats.delete(cell)
  }

  /** The processes in turn; undefined if none of the cell's has reported lately. */
  next(cell: CellId): string | undefined {
    const processes = this.#heartbeats.get(cell)
    if (processes === undefined) return undefined
    const since = this.#clock.elapsed() - SUSPECT_AFTER_MS
    for (const [id, at] of processes) {
      processes.delete(id)
      if (at < since) continue
      processes.set(id, at)
      return id
    }
    this.#heartbeats.delete(cell)
    return undefined
  }
}
