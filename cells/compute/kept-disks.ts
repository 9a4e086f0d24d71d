import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#common/clock.ts'
import { ContentDigests, type Digests } from '#common/content-digests.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { errorFields, type Logger } from '#common/log.ts'
import { makeDurable } from '#common/make-durable.ts'
import type { Reconciler } from '#common/reconciler.ts'
import { diskFile } from '#drivers/disk-file.ts'
import type { DiskImage } from '#drivers/driver.ts'
import type { ImageTarget } from '../images/image-client.ts'
import type { ImageFiller } from './compute.ts'

/** A disk whose content is in a file, which can be kept. */
export type MovableDisk = DiskImage & Required<Pick<DiskImage, 'moveTo'>>

export interface KeptDisksOptions {
  readonly folder: string
  readonly hostId: HostId
  readonly images: ImageFiller
  readonly log: Logger
  readonly clock: Pick<Clock, 'elapsed'>
}

const EVERY_MS = 10_000
/** Until then a gateway may still make the image active, of which the host has not heard. */
const UNCLAIMED_MS = 15 * 60_000
const READ_BYTES = 1024 * 1024
const UUID = /^[0-9a-f-]{36}$/

/** The files of a kept disk, whether they exist or not. */
function filesOf(folder: string, imageId: string) {
  const own = join(folder, imageId)
  return {
    folder: own,
    disk: join(own, 'disk'),
    /** Before it is whole. */
    part: join(own, 'disk.part'),
    ticket: join(own, 'ticket'),
    /** Written once a gateway has said that the image has the content. When the image no longer has it, nothing reads it. */
    claimed: join(own, 'claimed'),
  }
}

/**
 * Disks of servers that change cells, as the host has saved them: a folder for each, with the name of its image. They stay
 * until the image is deleted, and gateways read them here, so that they lie nowhere else on their way.
 */
export class KeptDisks {
  readonly #options: KeptDisksOptions
  /** Images that an act is about to fill. */
  readonly #busy = new Set<string>()
  /** Since when a disk is known here that no image was seen to have. */
  readonly #unclaimed = new Map<string, number>()

  constructor(options: KeptDisksOptions) {
    this.#options = options
  }

  /**
   * Afterwards the image is active with the disk's content, which the host keeps, or which the gateways' store has where they
   * cannot read it here; false: with that of an earlier request. Throws as `ImageFiller.fill`; after `unavailable` the host
   * keeps it for a repeat.
   */
  async fill(target: ImageTarget, disk: MovableDisk, signal: AbortSignal): Promise<boolean> {
    const { imageId } = target
    this.#busy.add(imageId)
    try {
      return await this.#fill(target, disk, signal)
    } finally {
      this.#busy.delete(imageId)
    }
  }

  /** The bytes from `offset` on, so many or as many as there are. Throws `not-found`. */
  async read(imageId: string, offset: number, maxBytes: number): Promise<Uint8Array> {
    const { disk } = filesOf(this.#options.folder, imageId)
    const file = await open(disk).catch((error: unknown) => {
      if (!isMissing(error)) throw error
      throw new Failure('not-found', `The host does not keep the content of image ${imageId}.`)
    })
    try {
      const bytes = Buffer.allocUnsafe(maxBytes)
      let length = 0
      for (let read = 1; read > 0 && length < maxBytes; length += read)
        read = (await file.read(bytes, length, maxBytes - length, offset + length)).bytesRead
      return bytes.subarray(0, length)
    } finally {
      await file.close()
    }
  }

  /** Removes each disk whose image was deleted, also while the host was away. */
  reconciler(): Reconciler {
    return {
      name: 'kept-disks',
      everyMs: EVERY_MS,
      round: async (signal) => {
        const imageIds = await this.#imageIds()
        let removed = 0
        for (const imageId of imageIds) {
          signal.throwIfAborted()
          if (await this.#removeUnclaimed(imageId, signal)) removed += 1
        }
        return { kept: imageIds.length - removed, removed }
      },
    }
  }

  async #fill(target: ImageTarget, saved: MovableDisk, signal: AbortSignal): Promise<boolean> {
    const { folder, images, hostId, log } = this.#options
    const { diskFormat } = saved
    const files = filesOf(folder, target.imageId)
    const isNew = await this.#take(target, saved)
    const disk = await diskFile(files.disk, diskFormat)
    const { sizeBytes } = disk
    const kept = { hostId, diskFormat, sizeBytes, ...(await digestsOf(files.disk, signal)) }
    try {
      const { isKept, isFilled } = await images.keep(target, kept, signal)
      if (isKept) await writeFile(files.claimed, '')
      else await this.#remove(target.imageId)
      return isFilled && isNew
    } catch (error) {
      signal.throwIfAborted()
      if (!isFailure(error) || error.kind === 'unavailable') throw error
      log.info({ image: target.imageId, ...errorFields(error) }, 'a saved disk is sent, not kept')
    }
    try {
      return (await images.fill(target, disk, signal)) && isNew
    } finally {
      await this.#remove(target.imageId)
    }
  }

  /** Afterwards the content is here, durably. False: it was, since an earlier request that may have filled the image with it. */
  async #take({ imageId, ticket }: ImageTarget, saved: MovableDisk): Promise<boolean> {
    const files = filesOf(this.#options.folder, imageId)
    if (await isThere(files.disk)) return false
    await this.#remove(imageId)
    await mkdir(files.folder, { recursive: true, mode: 0o700 })
    try {
      await writeFile(files.ticket, ticket, { mode: 0o600 })
      await saved.moveTo(files.part)
      for (const each of [files.ticket, files.part]) await makeDurable(each)
      await rename(files.part, files.disk)
      for (const each of [files.folder, this.#options.folder]) await makeDurable(each)
    } catch (error) {
      await this.#remove(imageId)
      throw error
    }
    return true
  }

  async #removeUnclaimed(imageId: string, signal: AbortSignal): Promise<boolean> {
    if (this.#busy.has(imageId) || (await this.#isClaimed(imageId, signal))) return false
    const { claimed } = filesOf(this.#options.folder, imageId)
    const now = this.#options.clock.elapsed()
    const since = this.#unclaimed.get(imageId) ?? now
    this.#unclaimed.set(imageId, since)
    if (now - since < UNCLAIMED_MS && !(await isThere(claimed))) return false
    // An act may have begun meanwhile.
    if (this.#busy.has(imageId)) return false
    await this.#remove(imageId)
    return true
  }

  /** True also where no gateway says. */
  async #isClaimed(imageId: string, signal: AbortSignal): Promise<boolean> {
    const { folder, hostId, images } = this.#options
    const files = filesOf(folder, imageId)
    try {
      const ticket = await readFile(files.ticket, 'utf8')
      if (!(await images.isKept({ imageId, ticket }, hostId, signal))) return false
      await writeFile(files.claimed, '')
      return true
    } catch (error) {
      // One whose process ended before it was written down has no disk beside it.
      if (isMissing(error)) return false
      if (isFailure(error)) return true
      throw error
    }
  }

  #remove(imageId: string): Promise<void> {
    this.#unclaimed.delete(imageId)
    const { folder } = filesOf(this.#options.folder, imageId)
    return rm(folder, { recursive: true, force: true })
  }

  async #imageIds(): Promise<readonly string[]> {
    try {
      return (await readdir(this.#options.folder)).filter((name) => UUID.test(name))
    } catch (error) {
      if (isMissing(error)) return []
      throw error
    }
  }
}

async function digestsOf(path: string, signal: AbortSignal): Promise<Digests> {
  const digests = new ContentDigests()
  const options = { highWaterMark: READ_BYTES, signal }
  for await (const chunk of createReadStream(path, options)) digests.update(chunk as Buffer)
  return digests.digests()
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
