import type { Executor } from '#common/db/database.ts'
import { findRequestSpec, type RequestSpec } from '../../db/request-specs.ts'

/**
 * The request specs of servers that this process has just accepted. The row is the copy that counts, and is what a saga taken up after a
 * crash reads; this one spares the usual boot reading what it has just written.
 */
export class RequestSpecCache {
  readonly #byServer = new Map<string, RequestSpec>()

  keep(spec: RequestSpec): void {
    this.#byServer.set(spec.serverId, spec)
  }

  drop(serverId: string): void {
    this.#byServer.delete(serverId)
  }

  /** Undefined once the server is gone, as far as this process knows. */
  async find(db: Executor, serverId: string): Promise<RequestSpec | undefined> {
    return this.#byServer.get(serverId) ?? findRequestSpec(db, serverId)
  }
}
