import type { Clock } from '#common/clock.ts'
import type { CellId } from '#common/ids.ts'

/** Two heartbeats and a half: a process that missed more is not asked while others are there. */
const SILENT_AFTER_MS = 2_500
/** Of a cell. It names its processes itself: above this those are forgotten that were asked longest ago. */
const PROCESSES_MAX = 64

/**
 * The processes of cells by their heartbeats. The bus goes on handing a process that hangs its share of the requests
 * to the cell, and each of these requests is lost until its deadline; a gateway that asks a process heard lately
 * avoids that.
 */
export class LiveProcesses {
  readonly #clock: Clock
  /** By cell, the id of each process and when it was heard; who was asked last stands last. */
  readonly #heard = new Map<CellId, Map<string, number>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  heard(cell: CellId, processId: string): void {
    const processes = this.#heard.get(cell) ?? new Map<string, number>()
    this.#heard.set(cell, processes.set(processId, this.#clock.elapsed()))
    const [first] = processes.keys()
    if (first !== undefined && processes.size > PROCESSES_MAX) processes.delete(first)
  }

  forget(cell: CellId): void {
    this.#heard.delete(cell)
  }

  /** Each in its turn; undefined when none of the cell's was heard lately. */
  next(cell: CellId): string | undefined {
    const processes = this.#heard.get(cell)
    if (processes === undefined) return undefined
    const since = this.#clock.elapsed() - SILENT_AFTER_MS
    for (const [id, at] of processes) {
      processes.delete(id)
      if (at < since) continue
      processes.set(id, at)
      return id
    }
    this.#heard.delete(cell)
    return undefined
  }
}
