import { type Clock, WOKEN } from '#common/clock.ts'
import { ContentDigests } from '#common/content-digests.ts'
import { Failure } from '#common/errors.ts'
import type { ImageContent } from '../../db/image.ts'
import { ContentSampler } from './formats/content-sampler.ts'
import type { WantedFormat } from './formats/format.ts'
import { inspectInWorker } from './formats/inspect-in-worker.ts'
import { withIdleLimit } from './idle-limit.ts'
import type { Incoming } from './store/content-store.ts'

/** A sender that is silent for this long is given up. Shorter than any lease, so that no upload outlives its own. */
const IDLE_MAX_MS = 60_000
const RENEW_EVERY_MS = 30_000

export interface Receipt {
  readonly body: AsyncIterable<Uint8Array>
  /** As the sender declared them, if it did. */
  readonly declaredBytes: number | undefined
  readonly sizeMaxBytes: number
  /** Undefined for content that is only staged: it is looked at when it is imported. */
  readonly format: WantedFormat | undefined
  readonly clock: Pick<Clock, 'elapsed' | 'sleep'>
  /** Of each half minute; what comes slower is given up. Undefined: a sender may be as slow as it likes. */
  readonly bytesPerSecondMin?: number
  /** Called every half minute; throws when another process has taken the upload. */
  readonly renew: () => Promise<void>
}

/**
 * Afterwards everything of the body is on disk. Throws `too-large`, and `invalid` for what breaks off, is silent too
 * long, or is not what its format says.
 */
export async function receiveContent(incoming: Incoming, receipt: Receipt): Promise<ImageContent> {
  const { declaredBytes, format, sizeMaxBytes, clock } = receipt
  refuseAbove(sizeMaxBytes, declaredBytes ?? 0)
  const digests = new ContentDigests()
  const sampler = new ContentSampler()
  let sizeBytes = 0
  let renewedAt = clock.elapsed()
  let renewedBytes = 0
  let isInspected = false
  for await (const chunk of withIdleLimit(receipt.body, IDLE_MAX_MS)) {
    sizeBytes += chunk.length
    refuseAbove(sizeMaxBytes, sizeBytes)
    digests.update(chunk)
    sampler.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    // Refused as soon as the front shows it; a fixed VHD only shows at its end.
    const showsInFront = format !== undefined && format !== 'vhd' && format !== 'any'
    if (!isInspected && showsInFront && sampler.isHeadFull) {
      isInspected = true
      await inspectInWorker(format, sampler.sample())
    }
    await incoming.write(chunk)
    const sinceMs = clock.elapsed() - renewedAt
    if (sinceMs < RENEW_EVERY_MS) continue
    refuseSlow(receipt, sizeBytes - renewedBytes, sinceMs)
    renewedAt = clock.elapsed()
    renewedBytes = sizeBytes
    await receipt.renew()
  }
  if (declaredBytes !== undefined && declaredBytes !== sizeBytes)
    throw new Failure('invalid', 'The upload ended before all of its data was received.')
  const virtualSizeBytes =
    format === undefined ? sizeBytes : await inspectInWorker(format, sampler.sample())
  const content = { sizeBytes, virtualSizeBytes, ...digests.digests() }
  await whileRenewing(receipt, incoming.flush(content.sha256))
  return content
}

/** The outcome of work that may take longer than an upload's lease. */
async function whileRenewing<T>({ clock, renew }: Receipt, work: Promise<T>): Promise<T> {
  const done = new AbortController()
  const renewed = async (): Promise<never> => {
    for (;;) {
      await clock.sleep(RENEW_EVERY_MS, done.signal)
      await renew()
    }
  }
  try {
    return await Promise.race([work, renewed()])
  } finally {
    done.abort(WOKEN)
  }
}

function refuseSlow({ bytesPerSecondMin }: Receipt, bytes: number, ms: number): void {
  if (bytesPerSecondMin === undefined || (1_000 * bytes) / ms >= bytesPerSecondMin) return
  throw new Failure(
    'invalid',
    `The data came slower than the minimum of ${bytesPerSecondMin} bytes a second.`,
  )
}

/** Throws `too-large`. */
export function refuseAbove(sizeMaxBytes: number, sizeBytes: number): void {
  if (sizeBytes > sizeMaxBytes)
    throw new Failure('too-large', `Image size limit of ${sizeMaxBytes} bytes exceeded.`)
}
