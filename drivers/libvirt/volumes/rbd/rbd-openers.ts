import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, isFailure } from '#common/errors.ts'
import type { HostId, VolumeId } from '#common/ids.ts'
import type { AttachmentSpec } from '../../../volumes.ts'
import { type Ask, cephDo, EXIT, endedWith, type RbdClient, rbd, rbdJson } from './rbd-client.ts'
import { noVolume } from './rbd-images.ts'

/** Who opened the volume last. */
const HOLDER = 'weir_holder'
const SHARED = 'shared'
/** Programs open a volume for a moment as well. */
const WAIT_MS = 5_000
/** Ceph takes a client for gone that has been silent for half a minute. */
const DEAD_MS = 35_000
const POLL_MS = 500
/** Longer than a guest that is cut off could go on. */
const FENCED_SECONDS = 366 * 86_400

interface Status {
  readonly watchers: readonly { readonly address: string }[]
}

/** A volume that clients of Ceph have open, or are to. */
interface Opened {
  readonly id: VolumeId
  /** The names of the pool and of the image, as Ceph's programs write them. */
  readonly path: string
  /** The host that asks. */
  readonly hostId: HostId
}

/** The addresses of the clients that have the volume open and may write it. */
async function writersOf(client: RbdClient, spec: string, ask: Ask): Promise<readonly string[]> {
  try {
    const { watchers } = await rbdJson<Status>(client, ['status', spec], ask)
    return watchers.map(({ address }) => address)
  } catch (error) {
    if (endedWith(error, EXIT.notFound)) return []
    throw error
  }
}

/** Throws `conflict` while a client has the volume open that may write it. */
export async function refuseWriters(
  client: RbdClient,
  { id, path, hostId }: Opened,
  ask: Ask,
): Promise<void> {
  if ((await writersOf(client, path, ask)).length === 0) return
  const last = await holderOf(client, path, ask)
  // The host knows its own guests: one that it does not know any more is dead.
  const deadline = performance.now() + (last.startsWith(`${hostId}/`) ? DEAD_MS : WAIT_MS)
  for (;;) {
    const writers = await writersOf(client, path, ask)
    if (writers.length === 0) return
    if (performance.now() > deadline)
      throw new Failure('conflict', `Another guest has volume ${id} open.`, {
        detail: `clients of Ceph: ${writers.join(', ')}`,
      })
    await sleep(POLL_MS, undefined, { signal: ask.signal })
  }
}

/** Tries again what is refused with `conflict`, as long as what has an image open may be a client that has died. */
export async function onceReleased<T>(work: () => Promise<T>, { signal }: Ask): Promise<T> {
  const deadline = performance.now() + DEAD_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isFailure(error, 'conflict') || performance.now() > deadline) throw error
    }
    await sleep(POLL_MS, undefined, { signal })
  }
}

/**
 * Ceph lets any number of clients write a volume, so they are asked for before a guest opens it. Throws `conflict` where
 * one has it and not both share it. What has it may be this attachment's own guest: its host was not told how an earlier
 * attempt ended, or Ceph not yet that its process died.
 */
export async function admitWriter(
  client: RbdClient,
  { id, path, attachmentId, isShared, hostId }: AttachmentSpec & Opened,
  ask: Ask,
): Promise<void> {
  const holder = isShared ? SHARED : `${hostId}/${attachmentId}`
  if ((await writersOf(client, path, ask)).length > 0) {
    if ((await holderOf(client, path, ask)) === holder) return
    await refuseWriters(client, { id, path, hostId }, ask)
  }
  await rbd(client, ['image-meta', 'set', path, HOLDER, holder], ask).catch((error: unknown) => {
    throw endedWith(error, EXIT.notFound) ? noVolume(id) : error
  })
}

async function holderOf(client: RbdClient, spec: string, ask: Ask): Promise<string> {
  const said = await rbd(client, ['image-meta', 'get', spec, HOLDER], ask).catch(
    (error: unknown) => {
      if (endedWith(error, EXIT.notFound)) return ''
      throw error
    },
  )
  return said.trim()
}

/** Afterwards no client that had the volume open writes it any more: the cluster refuses whatever it still sends. */
export async function fenceWriters(
  client: RbdClient,
  { path }: Pick<Opened, 'path'>,
  ask: Ask,
): Promise<void> {
  for (const address of await writersOf(client, path, ask))
    await cephDo(client, ['osd', 'blocklist', 'add', address, String(FENCED_SECONDS)], ask)
}
