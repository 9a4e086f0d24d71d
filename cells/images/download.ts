import type { Clock } from '#common/clock.ts'
import { Failure, isFailure } from '#common/errors.ts'
import type { ImageFile } from '#drivers/driver.ts'
import { type ImagePlace, unavailable } from './image-place.ts'

/** How often every place is tried without a further byte. */
const ROUNDS_MAX = 2
const ROUND_PAUSE_MS = 500

export interface DownloadOptions {
  readonly clock: Pick<Clock, 'sleep'>
  /** Called with each place that answers with bytes. */
  readonly onServed: (place: ImagePlace) => void
}

/**
 * The content, exactly as long as the image states. What one place does not have, or breaks off, comes from the next, from
 * the byte where it was. Throws `unavailable` when no place has it, and other failures of a place at once.
 */
export async function* download(
  places: readonly ImagePlace[],
  image: ImageFile,
  signal: AbortSignal,
  { clock, onServed }: DownloadOptions,
): AsyncGenerator<Uint8Array, undefined> {
  let at = 0
  let failures = 0
  for (let turn = 0; ; turn += 1) {
    const place = places[turn % places.length]
    if (place === undefined) throw unavailable(image, new Error('no image service is set'))
    try {
      const content = await place.open(image, at, signal)
      onServed(place)
      for await (const chunk of exactly(content, image, at)) {
        failures = 0
        at += chunk.byteLength
        yield chunk
      }
      return
    } catch (error) {
      signal.throwIfAborted()
      failures += 1
      if (!isFailure(error, 'unavailable') || failures >= ROUNDS_MAX * places.length) throw error
      if (failures % places.length === 0) await clock.sleep(ROUND_PAUSE_MS, signal)
    }
  }
}

/** Passes on the bytes behind the first `from`. Throws `invalid` where they are too many, `unavailable` where bytes are missing. */
async function* exactly(
  content: AsyncIterable<Uint8Array>,
  { id, sizeBytes }: ImageFile,
  from: number,
): AsyncGenerator<Uint8Array> {
  let left = sizeBytes - from
  for await (const chunk of content) {
    left -= chunk.byteLength
    if (left < 0) throw new Failure('invalid', `Image ${id} is larger than its ${sizeBytes} bytes.`)
    yield chunk
  }
  if (left > 0) throw unavailable({ id }, new Error(`${left} bytes are missing`))
}
