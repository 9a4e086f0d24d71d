import type { Static } from 'typebox'
import { Failure } from '#common/errors.ts'
import type { VolumeCarry } from '#drivers/volumes.ts'
import { type HOST_OPERATIONS, MOVE_BYTES_MAX } from '#openapi/wire/host.ts'
import type { Compute } from '../compute.ts'
import { driverPart } from '../driver-part.ts'

type Ask<O extends keyof typeof HOST_OPERATIONS> = Static<(typeof HOST_OPERATIONS)[O]['ask']>

const TIMEOUT_MS = 20_000

/** Throws `unsupported` where the driver gives no volume to another store. */
export function carryOf({ driver }: Pick<Compute, 'driver'>): VolumeCarry {
  const { carry } = driverPart(driver, 'volumes')
  if (carry !== undefined) return carry
  throw new Failure(
    'unsupported',
    `Driver '${driver.name}' moves no volumes between stores. Create a volume with this one as its source.`,
  )
}

/** The next bytes of a copy, as base64, as many as one answer can have. */
export async function readVolumeCopy(
  compute: Compute,
  { copy, offset, maxBytes }: Ask<'volume-read'>,
): Promise<{ bytes: string; sizeBytes: number }> {
  const part = { offset, maxBytes: Math.min(maxBytes, MOVE_BYTES_MAX) }
  const read = await carryOf(compute).read(copy, part, AbortSignal.timeout(TIMEOUT_MS))
  return { bytes: Buffer.from(read.bytes).toString('base64'), sizeBytes: read.sizeBytes }
}

/** Afterwards the host has these bytes of the copy. */
export async function writeVolumeCopy(
  compute: Compute,
  { copy, offset, bytes }: Ask<'volume-write'>,
): Promise<Record<string, never>> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  await carryOf(compute).write(copy, offset, Buffer.from(bytes, 'base64'), signal)
  return {}
}

/** Afterwards nothing of the copy is on the host. */
export async function dropVolumeCopy(
  compute: Compute,
  { copy }: Ask<'volume-drop'>,
): Promise<Record<string, never>> {
  await carryOf(compute).drop(copy, AbortSignal.timeout(TIMEOUT_MS))
  return {}
}
