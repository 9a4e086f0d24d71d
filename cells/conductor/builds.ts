import type { Executor } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Secrets } from '#common/secrets.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { findSealedBuild } from '../db/instances.ts'

export interface Attempt {
  readonly id: InstanceId
  readonly attempt: number
}

/**
 * What running boots are to build. The row is the copy that counts, and is what a saga taken up after a crash
 * reads; this one spares the usual boot reading and opening it. The row is sealed as a whole: user data and
 * password are secrets, and so are what the image is fetched with and whatever metadata a user hides something in.
 */
export class Builds {
  readonly #secrets: Secrets
  readonly #byAttempt = new Map<string, { readonly build: InstanceBuild; keepers: number }>()

  constructor(secrets: Secrets) {
    this.#secrets = secrets
  }

  /** Until dropped as often: the same build may be asked for several times at once. */
  keep(attempt: Attempt, build: InstanceBuild): void {
    const kept = this.#byAttempt.get(key(attempt)) ?? { build, keepers: 0 }
    kept.keepers += 1
    this.#byAttempt.set(key(attempt), kept)
  }

  drop(attempt: Attempt): void {
    const kept = this.#byAttempt.get(key(attempt))
    if (kept === undefined) return
    kept.keepers -= 1
    if (kept.keepers === 0) this.#byAttempt.delete(key(attempt))
  }

  /** Undefined once the attempt is over. */
  async get(db: Executor, attempt: Attempt): Promise<InstanceBuild | undefined> {
    const kept = this.#byAttempt.get(key(attempt))
    if (kept !== undefined) return kept.build
    const sealed = await findSealedBuild(db, attempt)
    if (sealed === undefined) return undefined
    return JSON.parse(this.#secrets.open(sealed, purpose(attempt))) as InstanceBuild
  }

  /** The kept build as it may be stored. */
  sealed(attempt: Attempt): string {
    const kept = this.#byAttempt.get(key(attempt))
    if (kept === undefined) throw new Error('A build must be kept before it is stored')
    return this.#secrets.seal(JSON.stringify(kept.build), purpose(attempt))
  }
}

function key({ id, attempt }: Attempt): string {
  return `${id} ${attempt}`
}

/** Binds a sealed build to its attempt, so that it opens in no other row. */
function purpose(attempt: Attempt): string {
  return `build of ${key(attempt)}`
}
