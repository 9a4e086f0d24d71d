import type { Executor } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { findBuild } from '../db/instances.ts'

export interface Attempt {
  readonly id: InstanceId
  readonly attempt: number
}

/**
 * What running boots are to build. The row is the copy that counts, and is what a saga taken up after a crash
 * reads; this one spares the usual boot reading and parsing it.
 */
export class Builds {
  readonly #byAttempt = new Map<string, InstanceBuild>()

  keep(attempt: Attempt, build: InstanceBuild): void {
    this.#byAttempt.set(key(attempt), build)
  }

  drop(attempt: Attempt): void {
    this.#byAttempt.delete(key(attempt))
  }

  /** Undefined once the attempt is over. */
  async get(db: Executor, attempt: Attempt): Promise<InstanceBuild | undefined> {
    return this.#byAttempt.get(key(attempt)) ?? (await findBuild(db, attempt))
  }
}

function key({ id, attempt }: Attempt): string {
  return `${id} ${attempt}`
}
