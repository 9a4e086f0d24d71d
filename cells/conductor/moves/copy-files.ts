import type { WorkContext } from '#common/context.ts'
import type { HostId } from '#common/ids.ts'
import { MOVE_BYTES_MAX } from '#openapi/wire/host.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { askHost } from '../ask-host.ts'
import type { Conductor } from '../conductor.ts'

export interface Copying {
  readonly from: HostId
  readonly to: HostId
  readonly operation: OperationRef
  readonly work: WorkContext
  readonly signal: AbortSignal
  /** False when the copy is needed no more; checked now and then. */
  readonly isWanted: () => Promise<boolean>
}

/** Chunks between two looks at whether the copy is still wanted. */
const CHECK_EVERY = 64

/**
 * Afterwards the one host holds what can be read of the server on the other; false when it was not wanted any more.
 * Hosts may not ask each other, so the bytes pass through here, one chunk at a time and the next on its way.
 */
export async function copyFiles(conductor: Conductor, copying: Copying): Promise<boolean> {
  const { from, operation, work, isWanted } = copying
  const { serverId } = operation
  const { files } = await askHost(conductor, from, 'move-files', { serverId }, work)
  for (const file of files) {
    if (!(await isWanted())) return false
    if (!(await copyFile(conductor, copying, file))) return false
  }
  return true
}

async function copyFile(
  conductor: Conductor,
  { from, to, operation, work, signal, isWanted }: Copying,
  { name, sizeBytes }: { readonly name: string; readonly sizeBytes: number },
): Promise<boolean> {
  const { serverId } = operation
  const read = (offset: number) => {
    const maxBytes = Math.min(MOVE_BYTES_MAX, sizeBytes - offset)
    if (maxBytes <= 0) return Promise.resolve({ bytes: '' })
    return askHost(conductor, from, 'move-read', { serverId, name, offset, maxBytes }, work)
  }
  let next = read(0)
  let offset = 0
  for (let chunk = 0; ; chunk += 1) {
    signal.throwIfAborted()
    const { bytes } = await next
    const size = Buffer.byteLength(bytes, 'base64')
    next = size === 0 ? Promise.resolve({ bytes: '' }) : read(offset + size)
    // A failed write must not end as an unhandled rejection.
    next.catch(() => undefined)
    if (size > 0 || offset === 0)
      await askHost(conductor, to, 'move-write', { operation, name, offset, bytes }, work)
    offset += size
    if (size === 0 || offset >= sizeBytes) return true
    if (chunk % CHECK_EVERY === CHECK_EVERY - 1 && !(await isWanted())) return false
  }
}
