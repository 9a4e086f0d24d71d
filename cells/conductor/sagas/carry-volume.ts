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

/** Parts between two looks at whether the copy is still wanted. */
const CHECK_EVERY = 64
/** Parts on their way at once: a host may take long to answer, and each part takes two answers. */
const PARTS_AT_ONCE = 4

/**
 * Afterwards the other host has the copy, which may be the same host. The bytes pass through here, a few parts at a time. A repeat
 * goes on where the former one broke off. Throws `unavailable` while a host does not answer.
 */
export async function carryCopy(conductor: Conductor, carrying: Carrying): Promise<CarriedCopy> {
  try {
    return await carry(conductor, carrying)
  } catch (error) {
    if (!isFailure(error) || error.kind === 'unavailable') throw error
    return { outcome: 'failed', reason: error.message }
  }
}

async function carry(conductor: Conductor, carrying: Carrying): Promise<CarriedCopy> {
  const { from, to, signal, isWanted } = carrying
  const sizeBytes = await sizeOn(conductor, from, carrying)
  if (from === to) return { outcome: 'done', sizeBytes }
  const start = await beginning(conductor, carrying)
  const underWay: Promise<void>[] = []
  try {
    for (let at = start, count = 1; at < sizeBytes; at += MOVE_BYTES_MAX, count += 1) {
      signal.throwIfAborted()
      // In order, so that all is there but what the last few have.
      if (underWay.length === PARTS_AT_ONCE) await underWay.shift()
      const part = carryPart(conductor, carrying, {
        at,
        end: Math.min(at + MOVE_BYTES_MAX, sizeBytes),
      })
      // A part that fails while another is waited for must not end as an unhandled rejection.
      part.catch(() => undefined)
      underWay.push(part)
      // The first part makes the file.
      if (at === 0) await part
      if (count % CHECK_EVERY === 0 && !(await isWanted())) return { outcome: 'unwanted' }
    }
    await Promise.all(underWay)
    return { outcome: 'done', sizeBytes }
  } finally {
    await Promise.allSettled(underWay)
  }
}

/** Where the first part begins: what comes before, the other host has from an earlier try. */
async function beginning(conductor: Conductor, carrying: Carrying): Promise<number> {
  const heldBytes = await sizeOn(conductor, carrying.to, carrying).catch((error: unknown) => {
    if (isFailure(error, 'not-found')) return 0
    throw error
  })
  // Of the parts that were on their way, a later one may have come and an earlier one not.
  const parts = Math.floor(heldBytes / MOVE_BYTES_MAX) - PARTS_AT_ONCE
  return Math.max(parts, 0) * MOVE_BYTES_MAX
}

/** Of what the host has of the copy. Throws `not-found` where that is nothing. */
async function sizeOn(
  conductor: Conductor,
  host: HostId,
  { copy, work }: Carrying,
): Promise<number> {
  const asked = { copy, offset: 0, maxBytes: 1 }
  return (await askHost(conductor, host, 'volume-read', asked, work)).sizeBytes
}

async function carryPart(
  conductor: Conductor,
  { copy, from, to, work }: Carrying,
  part: { readonly at: number; readonly end: number },
): Promise<void> {
  for (let offset = part.at; offset < part.end; ) {
    const asked = { copy, offset, maxBytes: part.end - offset }
    const { bytes, sizeBytes } = await askHost(conductor, from, 'volume-read', asked, work)
    if (bytes === '')
      throw new Failure('internal', `The copy ends at ${offset} of ${sizeBytes} bytes.`)
    await askHost(conductor, to, 'volume-write', { copy, offset, bytes }, work)
    offset += Buffer.byteLength(bytes, 'base64')
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
