import type { Json, Saga, Step } from './saga.ts'

export interface LogRow {
  readonly step: string
  readonly event: 'started' | 'succeeded' | 'failed' | 'undone'
  readonly data: Json
}

/** The log of one saga: kept in memory while it runs, read back when it is taken up again. */
export class Progress {
  readonly #log: LogRow[] = []
  readonly #rows = new Map<string, Map<LogRow['event'], Json>>()

  constructor(rows: readonly LogRow[] = []) {
    for (const row of rows) this.add(row)
  }

  /** In the order they were added. */
  get log(): readonly LogRow[] {
    return this.#log
  }

  /** A copy that also has `rows`: what a transaction may still roll back goes into a copy. */
  with(rows: readonly LogRow[]): Progress {
    return new Progress([...this.#log, ...rows])
  }

  /** A row that is there already stays as it is. */
  add(row: LogRow): void {
    if (this.has(row.step, row.event)) return
    this.#log.push(row)
    const events = this.#rows.get(row.step) ?? new Map<LogRow['event'], Json>()
    this.#rows.set(row.step, events.set(row.event, row.data))
  }

  has(step: string, event: LogRow['event']): boolean {
    return this.#rows.get(step)?.has(event) ?? false
  }

  output(step: string): Json | undefined {
    return this.#rows.get(step)?.get('succeeded')
  }

  get hasFailed(): boolean {
    return [...this.#rows.values()].some((events) => events.has('failed'))
  }

  /** Steps that left any trace and are not undone yet, last first. */
  toUndo<Deps, Params>(saga: Saga<Deps, Params>): readonly Step<Deps, Params>[] {
    return saga.steps
      .filter((step) => this.#rows.has(step.name) && !this.has(step.name, 'undone'))
      .toReversed()
  }
}
