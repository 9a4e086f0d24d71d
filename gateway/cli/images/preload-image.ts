import { setTimeout as sleep } from 'node:timers/promises'
import { keepSession } from '../cloud/kept-session.ts'
import { WaitExpired } from '../exit-codes.ts'
import type { Operator } from '../operator.ts'
import type { ViewOptions } from '../output/present.ts'
import { Progress } from '../output/progress.ts'
import { styleFor } from '../output/style.ts'
import { fieldsView, rendered } from '../output/view.ts'
import { CACHED_IMAGE_LISTING, type CachedImage } from './cached-image-listing.ts'

export interface PreloadOptions extends ViewOptions {
  readonly cell: string
  /** Seconds to wait at most; absent: as long as it takes. */
  readonly timeout?: number
}

const AGAIN_MS = 1_000
const MS_PER_S = 1_000

/** Afterwards the cell's image cache has the image. Throws `WaitExpired` when that takes too long. */
export async function preloadImage(
  operator: Operator,
  image: string,
  options: PreloadOptions,
): Promise<void> {
  const cached = await untilCached(operator, image, options)
  const { out, env } = operator
  out.write(
    await rendered(fieldsView(cached, CACHED_IMAGE_LISTING), options.output, styleFor(out, env)),
  )
}

async function untilCached(
  operator: Operator,
  image: string,
  options: PreloadOptions,
): Promise<CachedImage> {
  const { cell, timeout = Number.POSITIVE_INFINITY } = options
  const within = await keepSession(operator, options)
  const progress = new Progress(operator.err)
  const end = performance.now() + timeout * MS_PER_S
  try {
    for (;;) {
      const found = await within(({ federation }) =>
        federation.ask('put', '/v1/images/{image}/caches/{cell}', { path: { image, cell } }),
      )
      const { state, fetched_bytes: fetched, size_bytes: size } = found
      progress.show(`${image} to cell ${found.cell}: ${fetched} of ${size} bytes`, fetched, size)
      if (state === 'cached') return found
      if (performance.now() >= end)
        throw new WaitExpired(
          `Cell ${found.cell} has ${fetched} of ${size} bytes of ${image}, and goes on. To wait again, run the same command.`,
        )
      await sleep(AGAIN_MS)
    }
  } finally {
    progress.end()
  }
}
