import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { MoveEnd } from '#drivers/move.ts'
import { MOVE_BYTES_MAX } from '#openapi/wire/host.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import type { MoveProgress } from '#openapi/wire/migration.ts'
import type { Compute } from '../compute.ts'
import { driverPart } from '../driver-part.ts'

const TIMEOUT_MS = 20_000

interface Place {
  readonly name: string
  readonly offset: number
}

/** The readable files of an instance that is leaving. */
export async function listMoveFiles({ driver }: Compute, ask: { readonly serverId: string }) {
  const { serverId } = ask
  const move = driverPart(driver, 'move')
  const files = await move.files(serverId as InstanceId, AbortSignal.timeout(TIMEOUT_MS))
  return { files: files.map((file) => ({ ...file })) }
}

/** The next bytes of one of its files, as base64, as many as one answer can have. */
export async function readMoveFile(
  { driver }: Compute,
  { serverId, ...place }: Place & { readonly serverId: string; readonly maxBytes: number },
): Promise<{ bytes: string }> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const part = { ...place, maxBytes: Math.min(place.maxBytes, MOVE_BYTES_MAX) }
  const bytes = await driverPart(driver, 'move').read(serverId as InstanceId, part, signal)
  return { bytes: Buffer.from(bytes).toString('base64') }
}

/**
 * Afterwards the bytes wait here for the instance. Throws `conflict` once this host has ended this attempt of the
 * instance.
 */
export async function writeMoveFile(
  { driver, attempts }: Compute,
  ask: Place & { readonly operation: OperationRef; readonly bytes: string },
): Promise<Record<string, never>> {
  const { operation, bytes, ...at } = ask
  const id = operation.serverId as InstanceId
  if ((await attempts.begin(id, operation.attempt)) !== undefined)
    throw new Failure('conflict', `Instance ${id} has ended on this host.`)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  await driverPart(driver, 'move').write(id, at, Buffer.from(bytes, 'base64'), signal)
  return {}
}

/** How far a guest that is leaving while it runs has come. */
export async function moveProgress(
  { driver }: Compute,
  { serverId }: { readonly serverId: string },
): Promise<MoveProgress> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  return driverPart(driver, 'liveMove').progress(serverId as InstanceId, signal)
}

/** Asks the driver to abort a live migration from here, or to complete it soon. */
export async function endMove(
  { driver }: Compute,
  { serverId, how }: { readonly serverId: string; readonly how: MoveEnd },
): Promise<Record<string, never>> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  await driverPart(driver, 'liveMove').end(serverId as InstanceId, how, signal)
  return {}
}
