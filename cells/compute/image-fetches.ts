import { Failure } from '#common/errors.ts'
import { errorFields } from '#common/log.ts'
import type { ImageFile } from '#drivers/driver.ts'
import type { Compute } from './compute.ts'
import { driverPart } from './driver-part.ts'

type FetchState = 'there' | 'fetching' | 'failed'

/** The ticket of an image does not last longer. */
const FETCHED_WITHIN_MS = 3_600_000

/** Images that a host fetches for boots to come. A restart forgets the fetches; what asks for them asks again. */
export class ImageFetches {
  readonly #compute: Pick<Compute, 'driver' | 'log'>
  readonly #states = new Map<string, Exclude<FetchState, 'there'>>()

  constructor(compute: Pick<Compute, 'driver' | 'log'>) {
    this.#compute = compute
  }

  /** Begins to fetch the image, and says how far that has come; a failure is said once. Throws `unsupported`. */
  async ask(image: ImageFile, signal: AbortSignal): Promise<FetchState> {
    const copies = driverPart(this.#compute.driver, 'imageCopies')
    if (copies.fetch === undefined)
      throw new Failure('unsupported', 'The host fetches images only for guests that it builds.')
    if ((await copies.find(image, signal)) !== undefined) return 'there'
    const state = this.#states.get(image.sha256)
    if (state === 'failed') this.#states.delete(image.sha256)
    if (state !== undefined) return state
    this.#states.set(image.sha256, 'fetching')
    void this.#fetch(image, copies.fetch.bind(copies))
    return 'fetching'
  }

  async #fetch(
    image: ImageFile,
    fetch: (image: ImageFile, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    try {
      await fetch(image, AbortSignal.timeout(FETCHED_WITHIN_MS))
      this.#states.delete(image.sha256)
    } catch (error) {
      this.#states.set(image.sha256, 'failed')
      this.#compute.log.warn({ image: image.id, ...errorFields(error) }, 'image not fetched ahead')
    }
  }
}
