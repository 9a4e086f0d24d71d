import { LibvirtSession } from '../session.ts'
import type { LibvirtAddress } from '../uri.ts'

/**
 * A session for each storage pool. The daemon says nothing of a pool whose server is silent while it mounts that, and a
 * session in which a call has no answer is ended, with all that is under way in it.
 */
export class PoolSessions implements AsyncDisposable {
  readonly #address: LibvirtAddress
  readonly #sessions = new Map<string, LibvirtSession>()

  constructor(address: LibvirtAddress) {
    this.#address = address
  }

  /** That of the pool with this name. */
  of(pool: string): LibvirtSession {
    const known = this.#sessions.get(pool)
    if (known !== undefined) return known
    const session = new LibvirtSession(this.#address)
    this.#sessions.set(pool, session)
    return session
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions.values()) await session[Symbol.asyncDispose]()
  }
}
