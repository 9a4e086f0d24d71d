import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '#common/errors.ts'

/** `<SHA-256 of the image>.pin-<id of what it is pinned for>`, an empty file. */
const PIN = /^([0-9a-f]{64})\.pin-([0-9a-f-]{36})$/

/** The pins of the images in a folder, and their holders. Each pin is an empty file, so it outlasts the process. */
export class ImagePins {
  readonly #folder: string
  /** The SHA-256 of images, by their holders. */
  readonly #byHolder = new Map<string, Set<string>>()
  /** How many holders each image has. */
  readonly #holders = new Map<string, number>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Afterwards those are known whose files are among these. */
  restore(names: readonly string[]): void {
    for (const name of names) {
      const [, sha256, holder] = PIN.exec(name) ?? []
      if (sha256 !== undefined && holder !== undefined) this.#add(sha256, holder)
    }
  }

  has(sha256: string): boolean {
    return this.#holders.has(sha256)
  }

  /** Afterwards the image is pinned for the holder, a UUID. */
  async add(sha256: string, holder: string): Promise<void> {
    const name = nameOf(sha256, holder)
    if (!PIN.test(name)) throw new Failure('invalid', `${holder} cannot pin the image ${sha256}.`)
    if (this.#byHolder.get(holder)?.has(sha256) === true) return
    await writeFile(join(this.#folder, name), '')
    this.#add(sha256, holder)
  }

  /** Afterwards no image is pinned for the holder, undefined: for any, but the one of this SHA-256, if it is named. */
  async remove(holder: string | undefined, except?: string): Promise<void> {
    const holders = holder === undefined ? [...this.#byHolder.keys()] : [holder]
    for (const each of holders)
      for (const sha256 of this.#byHolder.get(each) ?? []) {
        if (sha256 === except) continue
        await rm(join(this.#folder, nameOf(sha256, each)), { force: true })
        this.#delete(sha256, each)
      }
  }

  #add(sha256: string, holder: string): void {
    const own = this.#byHolder.get(holder) ?? new Set()
    if (own.has(sha256)) return
    this.#byHolder.set(holder, own.add(sha256))
    this.#holders.set(sha256, (this.#holders.get(sha256) ?? 0) + 1)
  }

  #delete(sha256: string, holder: string): void {
    const own = this.#byHolder.get(holder)
    if (own?.delete(sha256) !== true) return
    if (own.size === 0) this.#byHolder.delete(holder)
    const left = (this.#holders.get(sha256) ?? 1) - 1
    if (left > 0) this.#holders.set(sha256, left)
    else this.#holders.delete(sha256)
  }
}

function nameOf(sha256: string, holder: string): string {
  return `${sha256}.pin-${holder}`
}
