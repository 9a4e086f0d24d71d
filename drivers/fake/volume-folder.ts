import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'
import type { AttachmentId, HostId, InstanceId, VolumeId, VolumeSnapshotId } from '#common/ids.ts'
import type { ImageFile, Owner } from '../driver.ts'
import type { Keyring } from '../keyring.ts'
import { storeIdentity } from '../store-identity.ts'
import type { VolumeReport } from '../volumes.ts'

/** Who has a volume open. */
export interface Opener {
  readonly instance: InstanceId
  readonly host: HostId
  readonly isShared: boolean
}

/**
 * The simulated volumes in a folder, which several hosts, also of several processes, may use at once. A volume is a
 * directory with its size, a file per snapshot and a file per guest that has it open. It comes and goes by a rename.
 */
export class VolumeFolder {
  readonly #path: string
  readonly #owner: Owner
  readonly #totalBytes: number
  readonly #keyring: Keyring
  #identity: Promise<string> | undefined
  #used = { bytes: 0, asOf: Number.NaN }

  constructor(
    path: string,
    owner: Owner,
    { totalBytes, keyring }: { readonly totalBytes: number; readonly keyring: Keyring },
  ) {
    this.#path = path
    this.#owner = owner
    this.#totalBytes = totalBytes
    this.#keyring = keyring
  }

  get totalBytes(): number {
    return this.#totalBytes
  }

  identity(): Promise<string> {
    mkdirSync(this.#path, { recursive: true })
    this.#identity ??= storeIdentity(this.#path)
    return this.#identity
  }

  /** Volumes of other cells count, too. */
  freeBytes(): number {
    // Every change of a volume's size is one of the folder.
    const asOf = statSync(this.#path).mtimeMs
    if (asOf !== this.#used.asOf) this.#used = { bytes: this.#usedBytes(), asOf }
    return Math.max(0, this.#totalBytes - this.#used.bytes)
  }

  /** Undefined for a volume that is not there. */
  find(id: VolumeId): VolumeReport | undefined {
    const folder = this.#folderOf(id)
    if (!existsSync(folder)) return undefined
    const snapshots = readdirSync(join(folder, 'snapshots')) as VolumeSnapshotId[]
    return { id, bytes: readSize(folder), snapshots: snapshots.toSorted() }
  }

  /** Throws `not-found` for a volume that is not there. */
  get(id: VolumeId): VolumeReport {
    const found = this.find(id)
    if (found === undefined)
      throw new Failure('not-found', `Volume ${id} could not be found in its store.`)
    return found
  }

  list(): readonly VolumeReport[] {
    const prefix = `${this.#owner.cellId}.`
    const names = readdirSync(this.#path).filter((name) => name.startsWith(prefix))
    return names.flatMap((name) => this.find(name.slice(prefix.length) as VolumeId) ?? [])
  }

  /** Afterwards the volume is there, of at least that size. An encrypted one keeps what tells its key from others. */
  make(id: VolumeId, bytes: number, isEncrypted: boolean): void {
    if (this.find(id) !== undefined) return this.grow(id, bytes)
    this.#refuseWithoutRoom(bytes)
    const key = isEncrypted ? digestOf(this.#keyring.keyOf(id)) : undefined
    const part = this.partOf(id)
    rmSync(part, { recursive: true, force: true })
    for (const name of ['snapshots', 'openers']) mkdirSync(join(part, name), { recursive: true })
    writeFileSync(join(part, 'bytes'), String(bytes))
    if (key !== undefined) writeFileSync(join(part, 'key'), key)
    renameSync(part, this.#folderOf(id))
  }

  /** Throws `conflict` for an encrypted volume whose key this host was not given. */
  unlock(id: VolumeId): void {
    const known = this.sealOf(id)
    if (known === undefined || known === digestOf(this.#keyring.keyOf(id))) return
    throw new Failure('conflict', `The key of volume ${id} is not the one that it was made with.`)
  }

  isEncrypted(id: VolumeId): boolean {
    return this.sealOf(id) !== undefined
  }

  /** What tells its key from others; undefined: it is not encrypted. */
  sealOf(id: VolumeId): string | undefined {
    return readIfThere(join(this.#folderOf(id), 'key'))
  }

  grow(id: VolumeId, bytes: number): void {
    const before = this.get(id).bytes
    if (bytes <= before) return
    this.#refuseWithoutRoom(bytes - before)
    const path = join(this.#folderOf(id), 'bytes')
    writeFileSync(`${path}.new`, String(bytes))
    renameSync(`${path}.new`, path)
    const now = new Date()
    utimesSync(this.#path, now, now)
  }

  /** Throws `conflict`, and changes nothing, while a guest has it open or it has snapshots. */
  remove(id: VolumeId): void {
    const [folder, part] = [this.#folderOf(id), this.partOf(id)]
    if (existsSync(folder)) {
      if (this.get(id).snapshots.length > 0)
        throw new Failure('conflict', `Volume ${id} has snapshots.`)
      rmSync(part, { recursive: true, force: true })
      // Nobody opens it after its name is gone.
      renameSync(folder, part)
      if (readdirSync(join(part, 'openers')).length > 0) {
        renameSync(part, folder)
        throw new Failure('conflict', `A guest has volume ${id} open.`)
      }
    }
    rmSync(part, { recursive: true, force: true })
  }

  keepSnapshot(id: VolumeId, snapshot: VolumeSnapshotId): void {
    const { bytes } = this.get(id)
    writeFileSync(join(this.#folderOf(id), 'snapshots', snapshot), String(bytes), { flag: 'a' })
  }

  /** There is no content to change. Throws `not-found`, and `conflict` while a guest has the volume open. */
  revert(id: VolumeId, snapshot: VolumeSnapshotId): void {
    const { snapshots } = this.get(id)
    if (this.openers(id).length > 0) throw new Failure('conflict', `A guest has volume ${id} open.`)
    if (!snapshots.includes(snapshot))
      throw new Failure('not-found', `Snapshot ${snapshot} could not be found in its store.`)
  }

  /**
   * There is no content to change. Throws `not-found`; `conflict` while a guest has the volume open but by the attachment, and
   * for an encrypted one without its key; `invalid` for an image that is larger.
   */
  reimage(
    id: VolumeId,
    image: Pick<ImageFile, 'id' | 'sizeBytes'>,
    attachment?: AttachmentId,
  ): void {
    const { bytes } = this.get(id)
    this.unlock(id)
    const others = readdirSync(join(this.#folderOf(id), 'openers')).filter(
      (name) => name !== attachment,
    )
    if (others.length > 0) throw new Failure('conflict', `Another guest has volume ${id} open.`)
    if (image.sizeBytes > bytes)
      throw new Failure(
        'invalid',
        `Image ${image.id} needs a disk of ${image.sizeBytes} bytes; volume ${id} has ${bytes}.`,
      )
  }

  /** Whose guests have the volume open, which is there. */
  openers(id: VolumeId): readonly Opener[] {
    const folder = join(this.#folderOf(id), 'openers')
    return readdirSync(folder).flatMap((name) => readOpener(join(folder, name)) ?? [])
  }

  removeSnapshot(id: VolumeId, snapshot: VolumeSnapshotId): void {
    rmSync(join(this.#folderOf(id), 'snapshots', snapshot), { force: true })
  }

  /** Throws `conflict` when a guest has it open by another attachment and not both share it. */
  open(id: VolumeId, attachment: AttachmentId, opener: Omit<Opener, 'host'>): void {
    this.get(id)
    this.unlock(id)
    const openers = join(this.#folderOf(id), 'openers')
    const own = join(openers, attachment)
    const opened: Opener = { ...opener, host: this.#owner.hostId }
    const isNew = readOpener(own) === undefined
    // First, so that of two at once at most one is left without a conflict.
    writeFileSync(`${own}`, JSON.stringify(opened))
    const others = readdirSync(openers)
      .filter((name) => name !== attachment)
      .map((name) => readOpener(join(openers, name)))
    if (others.every((other) => other === undefined || (other.isShared && opened.isShared))) return
    if (isNew) rmSync(own, { force: true })
    throw new Failure('conflict', `Another guest has volume ${id} open.`)
  }

  /** Afterwards this host does not have it open by the attachment. */
  close(id: VolumeId, attachment: AttachmentId): void {
    const own = join(this.#folderOf(id), 'openers', attachment)
    // The guest may have been evacuated to another host since.
    if (readOpener(own)?.host === this.#owner.hostId) rmSync(own, { force: true })
  }

  /** Where a volume is while it is made or removed. */
  partOf(id: VolumeId): string {
    return join(this.#path, `.part-${this.#owner.cellId}.${id}`)
  }

  #folderOf(id: VolumeId): string {
    return join(this.#path, `${this.#owner.cellId}.${id}`)
  }

  #usedBytes(): number {
    const volumes = readdirSync(this.#path).filter((name) => !name.startsWith('.'))
    return volumes.reduce((sum, name) => sum + readSize(join(this.#path, name)), 0)
  }

  #refuseWithoutRoom(bytes: number): void {
    if (bytes <= this.#totalBytes - this.#usedBytes()) return
    throw new Failure('no-capacity', 'The store has no room for the volume.')
  }
}

/** Tells a key from others. */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/** 0 for a volume that another process has just removed. */
function readSize(folder: string): number {
  return Number(readIfThere(join(folder, 'bytes')) ?? 0)
}

function readOpener(path: string): Opener | undefined {
  const text = readIfThere(path)
  return text === undefined || text === '' ? undefined : (JSON.parse(text) as Opener)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
