import { Failure } from '#common/errors.ts'
import type { VolumeId } from '#common/ids.ts'
import type { Driver } from '#drivers/driver.ts'
import type { VolumeKeys } from '#openapi/wire/volume.ts'

const DROP_MS = 10_000

interface Holding {
  readonly keys?: VolumeKeys | undefined
  readonly holder: string
  /** True: the driver has the keys after the work as well, until work with `ends` is over. */
  readonly isKept?: boolean
  /** Another holder whose keys are dropped with these. */
  readonly ends?: string
}

/** Does the work while the driver has the keys that were sent along, in memory alone, and no longer. */
export async function withKeys<T>(
  driver: Driver,
  { keys, holder, isKept = false, ends }: Holding,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  if (keys === undefined) return work()
  const ring = driver.volumes?.keys
  if (ring === undefined)
    throw new Failure('unsupported', `Driver '${driver.name}' encrypts no volumes.`)
  const drop = async () => {
    for (const each of [holder, ...(ends === undefined ? [] : [ends])])
      await ring.drop(each, AbortSignal.timeout(DROP_MS))
  }
  const held = keys.map(({ volumeId, key }) => ({ id: volumeId as VolumeId, key }))
  try {
    await ring.hold(holder, held, signal)
    const done = await work()
    if (!isKept) await drop()
    return done
  } catch (error) {
    // The outcome is that of the work: a daemon that is away has lost its keys as well.
    await drop().catch(() => undefined)
    throw error
  }
}
