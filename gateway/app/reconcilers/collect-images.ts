import type { Reconciler } from '#common/reconciler.ts'
import { collectImages } from '../images/collect-content.ts'
import type { Images } from '../images/images.ts'

const EVERY_MS = 60_000

/** Puts right what uploads and deletes of killed processes left in the image service. Any gateway may run it. */
export function imageCollector(images: Images): Reconciler {
  return {
    name: 'images',
    everyMs: EVERY_MS,
    round: async (signal) => ({ ...(await collectImages(images, signal)) }),
  }
}
