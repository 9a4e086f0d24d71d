import type { Clock } from '#common/clock.ts'
import type { Executor } from '#common/db/database.ts'
import type { Logger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import { listPlacementPolicies, type PlacementPolicy } from '../../db/placement-policies.ts'

/** How late a policy that was changed at another gateway may be noticed here. */
const REFRESH_MS = 1_000

/** All placement policies, in memory: a choice of a cell asks no database for them. */
export class KnownPolicies implements AsyncDisposable {
  readonly #db: Executor
  #policies: readonly PlacementPolicy[] = []
  #refresh: RunningReconciler | undefined

  private constructor(db: Executor) {
    this.#db = db
  }

  static async open({
    db,
    clock,
    log,
  }: {
    readonly db: Executor
    readonly clock: Clock
    readonly log: Logger
  }): Promise<KnownPolicies> {
    const known = new KnownPolicies(db)
    await known.refresh()
    const round = async () => ({ policies: await known.refresh() })
    const reconciler = { name: 'placement policies', everyMs: REFRESH_MS, round }
    known.#refresh = new RunningReconciler(reconciler, clock, log)
    return known
  }

  /** Reads them again; returns how many there are. */
  async refresh(): Promise<number> {
    this.#policies = await listPlacementPolicies(this.#db)
    return this.#policies.length
  }

  /** By name. */
  all(): readonly PlacementPolicy[] {
    return this.#policies
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#refresh?.[Symbol.asyncDispose]()
  }
}
