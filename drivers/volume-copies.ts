import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { ifAbsent } from '#common/if-absent.ts'
import { storageFailure } from './storage-failure.ts'
import type { CopyBytes, CopyPart, CopyRef } from './volumes.ts'

const PART = '.part'
/** The move of an older copy has ended while this host did not answer. */
const KEPT_MS = 7 * 86_400_000

/** Copies of volumes on their way to other stores, a file each in a folder of this host. */
export class VolumeCopies {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Afterwards the copy is here, whole, as `make` makes it at the path that it is given; one that is here already stays. */
  async make(copy: string, make: (path: string) => Promise<void>): Promise<void> {
    const path = this.#pathOf(copy)
    if ((await sizeOf(path)) !== undefined) return
    await this.#prepare()
    const part = `${path}${PART}`
    await rm(part, { force: true })
    try {
      await make(part)
      await rename(part, path)
    } catch (error) {
      await rm(part, { force: true })
      throw storageFailure(error)
    }
  }

  /** Throws `not-found`. */
  async read(copy: string, { offset, maxBytes }: CopyPart): Promise<CopyBytes> {
    const file = await open(this.#pathOf(copy), 'r').catch((cause: unknown) => {
      throw absent(copy, cause)
    })
    try {
      const { size: sizeBytes } = await file.stat()
      const bytes = Buffer.alloc(Math.max(Math.min(maxBytes, sizeBytes - offset), 0))
      const { bytesRead } = await file.read(bytes, 0, bytes.length, offset)
      return { bytes: bytes.subarray(0, bytesRead), sizeBytes }
    } finally {
      await file.close()
    }
  }

  /**
   * Afterwards the bytes are on disk, also after a loss of power. The same bytes may come again and late: a copy has its own
   * file, in which they only replace themselves.
   */
  async write(copy: string, offset: number, bytes: Uint8Array): Promise<void> {
    const path = this.#pathOf(copy)
    try {
      if (offset === 0) {
        await this.#prepare()
        await (await open(path, 'a', 0o600)).close()
      }
      const target = await open(path, 'r+')
      try {
        await target.write(bytes, 0, bytes.length, offset)
        await target.datasync()
      } finally {
        await target.close()
      }
    } catch (error) {
      throw storageFailure(error)
    }
  }

  /** The file of a copy that is whole. Throws `not-found` for another one. */
  async find({ id, sizeBytes }: CopyRef): Promise<string> {
    const path = this.#pathOf(id)
    if ((await sizeOf(path)) === sizeBytes) return path
    throw absent(id)
  }

  /** Afterwards nothing of the copy is here, nor what a process that has died was making of it. */
  async drop(copy: string): Promise<void> {
    const name = basename(this.#pathOf(copy))
    const names = await readdir(this.#folder).catch(ifAbsent<string[]>([]))
    for (const each of names.filter((known) => known.startsWith(name)))
      await rm(join(this.#folder, each), { force: true })
  }

  /** Afterwards the folder is there, without copies that were forgotten. */
  async #prepare(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name)
      const { mtimeMs = Number.POSITIVE_INFINITY } = (await stat(path).catch(() => undefined)) ?? {}
      if (Date.now() - mtimeMs > KEPT_MS) await rm(path, { force: true })
    }
  }

  #pathOf(copy: string): string {
    if (!isUuid(copy)) throw new Failure('invalid', `${copy} is no copy of a volume.`)
    return join(this.#folder, copy)
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  )
}

function absent(copy: string, cause?: unknown): Failure {
  return new Failure('not-found', `Copy ${copy} of a volume is not on this host, or not whole.`, {
    cause,
  })
}
