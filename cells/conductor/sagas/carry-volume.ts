import type { WorkContext } from '#common/context.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { type HostId, newId } from '#common/ids.ts'
import { MOVE_BYTES_MAX } from '#openapi/wire/host.ts'
import { hostOfVolume } from '../../volumes/host-of-volume.ts'
import type { Volume } from '../../volumes/volume.ts'
import { askHost } from '../ask-host.ts'
import type { Conductor } from '../conductor.ts'
import { type VolumeDone, workOnStore } from '../work-on-store.ts'
import type { LeftContent } from './migrate-volume.ts'

interface Carrying {
  readonly copy: string
  readonly from: HostId
  readonly to: HostId
  readonly work: WorkContext
  readonly signal: AbortSignal
  /** False when the copy is needed no more; checked now and then. */
  readonly isWanted: () => Promise<boolean>
}

/** How a copy got to the other host. */
export type CarriedCopy =
  | { readonly outcome: 'done'; readonly sizeBytes: number }
  | Exclude<VolumeDone, { readonly outcome: 'done' }>

/** Chunks between two looks at whether the copy is still wanted. */
const CHECK_EVERY = 64

/**
 * Afterwards the other host has the copy, which may be the same host. The bytes pass through here, one chunk at a time and the
 * next on its way. Throws `unavailable` while a host does not answer.
 */
export async function carryCopy(conductor: Conductor, carrying: Carrying): Promise<CarriedCopy> {
  try {
    return await carry(conductor, carrying)
  } catch (error) {
    if (!isFailure(error) || error.kind === 'unavailable') throw error
    return { outcome: 'failed', reason: error.message }
  }
}

async function carry(
  conductor: Conductor,
  { copy, from, to, work, signal, isWanted }: Carrying,
): Promise<CarriedCopy> {
  const read = (offset: number) =>
    askHost(conductor, from, 'volume-read', { copy, offset, maxBytes: MOVE_BYTES_MAX }, work)
  const first = await read(0)
  const { sizeBytes } = first
  if (from === to) return { outcome: 'done', sizeBytes }
  let next = Promise.resolve(first)
  let offset = 0
  for (let chunk = 0; ; chunk += 1) {
    signal.throwIfAborted()
    const { bytes } = await next
    const size = Buffer.byteLength(bytes, 'base64')
    const end = offset + size
    if (size === 0 && end < sizeBytes)
      throw new Failure('internal', `The copy ends at ${end} of ${sizeBytes} bytes.`)
    if (end < sizeBytes) {
      next = read(end)
      // A failed write must not end as an unhandled rejection.
      next.catch(() => undefined)
    }
    await askHost(conductor, to, 'volume-write', { copy, offset, bytes }, work)
    offset = end
    if (offset >= sizeBytes) return { outcome: 'done', sizeBytes }
    if (chunk % CHECK_EVERY === CHECK_EVERY - 1 && !(await isWanted()))
      return { outcome: 'unwanted' }
  }
}

/** Afterwards the store has nothing of the volume. Throws `unavailable` while that cannot be said. */
export async function removeContent(
  conductor: Conductor,
  {
    volume,
    left,
    work,
    signal,
  }: {
    readonly volume: Volume
    readonly left: LeftContent
    readonly work: WorkContext
    readonly signal: AbortSignal
  },
): Promise<void> {
  const { storeId, storeName } = left
  const host = left.hostId ?? (await hostOfVolume(conductor, volume))
  // Each try is an operation of its own: hosts remember how one has ended.
  const operation = { id: newId<string>(), store: storeId, volumeId: volume.id }
  const payload = { operation }
  const isWanted = async () => true
  const asked = { host, operation: 'volume-destroy', payload, work, signal, isWanted } as const
  const done = await workOnStore(conductor, asked)
  if (done.outcome === 'failed')
    throw new Failure(
      'unavailable',
      `Content of volume ${volume.id} is still in store ${storeName}: ${done.reason}`,
    )
}

/** Hosts that do not answer drop their copies later, by themselves. */
export async function dropCopies(
  conductor: Conductor,
  {
    copy,
    hosts,
    work,
  }: { readonly copy: string; readonly hosts: readonly HostId[]; readonly work: WorkContext },
): Promise<void> {
  for (const host of hosts)
    await askHost(conductor, host, 'volume-drop', { copy }, work).catch((error: unknown) => {
      if (!isFailure(error)) throw error
      conductor.log.info({ copy, host, error: error.message }, 'a copy of a volume stays for now')
    })
}
