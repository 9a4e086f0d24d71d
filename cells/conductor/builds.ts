import type { Executor } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Secrets } from '#common/secrets.ts'
import type { ImageFile, InstanceBuild, InstanceRecord } from '#openapi/wire/instance.ts'
import { findSealedBuild, type SealedBuild } from '../db/instances.ts'

export interface Attempt {
  readonly id: InstanceId
  readonly attempt: number
}

/**
 * The build requests of running boots. The row in the database counts, and a saga that is resumed after a crash reads
 * it; this copy spares the usual boot the reading and decrypting. The row is sealed as a whole: user data, passwords
 * and image tickets are secrets, and users may hide secrets in metadata. The part without secrets is sealed apart and
 * kept.
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
    if (sealed === undefined || sealed.secrets === null) return undefined
    const secrets = this.#open<Secret>(sealed.secrets, secretsPurpose(attempt))
    return { ...this.#open<InstanceRecord>(sealed.record, purpose(attempt)), ...secrets }
  }

  /** The build request of an instance in this cell; undefined for one that is not here. */
  async record(db: Executor, attempt: Attempt): Promise<InstanceRecord | undefined> {
    const sealed = await findSealedBuild(db, attempt)
    return sealed && this.#open<InstanceRecord>(sealed.record, purpose(attempt))
  }

  /** The kept build as it may be stored. */
  sealed(attempt: Attempt): SealedBuild {
    const kept = this.#byAttempt.get(key(attempt))
    if (kept === undefined) throw new Error('A build must be kept before it is stored')
    const { userData, adminPassword, files, image, ...record } = kept.build
    const secrets: Secret = { userData, adminPassword, image, ...(files && { files }) }
    return {
      record: this.#seal({ ...record, image: withoutTickets(image) }, purpose(attempt)),
      secrets: this.#seal(secrets, secretsPurpose(attempt)),
    }
  }

  #open<T>(sealed: string, what: string): T {
    return JSON.parse(this.#secrets.open(sealed, what)) as T
  }

  #seal(value: InstanceRecord | Secret, what: string): string {
    return this.#secrets.seal(JSON.stringify(value), what)
  }
}

/** The image is among them for the tickets that its files are fetched with. */
type Secret = Pick<InstanceBuild, 'userData' | 'adminPassword' | 'files' | 'image'>

function withoutTickets({ ticket: _ticket, kernel, ramdisk, ...image }: InstanceBuild['image']) {
  const file = ({ ticket: _fileTicket, ...rest }: ImageFile) => rest
  return {
    ...image,
    ...(kernel && { kernel: file(kernel) }),
    ...(ramdisk && { ramdisk: file(ramdisk) }),
  }
}

function key({ id, attempt }: Attempt): string {
  return `${id} ${attempt}`
}

/** Binds a sealed build to its attempt, so that it opens in no other row. */
function purpose(attempt: Attempt): string {
  return `build of ${key(attempt)}`
}

function secretsPurpose(attempt: Attempt): string {
  return `secrets of ${key(attempt)}`
}
