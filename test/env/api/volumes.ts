import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from './client.ts'

export const BLOCK_STORAGE = '/volume/v3'
const LIMIT_MS = 30_000

export type VolumeKind = 'volume' | 'snapshot'

/** A volume or snapshot as the API shows it. */
export interface StoredBody {
  readonly id: string
  readonly status: string
  readonly [field: string]: unknown
}

const pathOf = (kind: VolumeKind, id: string) => `${BLOCK_STORAGE}/${kind}s/${id}`

/** Undefined where the client sees none. */
export async function showStored(
  client: ApiClient,
  kind: VolumeKind,
  id: string,
): Promise<StoredBody | undefined> {
  const { status, body } = await client.get(pathOf(kind, id))
  return status === 404 ? undefined : (body[kind] as StoredBody)
}

/** Waits until it has this status. */
export async function untilStored(
  client: ApiClient,
  kind: VolumeKind,
  id: string,
  wanted: string,
  limitMs = LIMIT_MS,
): Promise<void> {
  const isThere = async () => (await showStored(client, kind, id))?.status === wanted
  await waitFor(`${kind} ${id} is ${wanted}`, isThere, limitMs)
}

/** The id of a new one, which is available. */
export async function makeStored(
  client: ApiClient,
  kind: VolumeKind,
  fields: object,
): Promise<string> {
  const { body } = await client.post(`${BLOCK_STORAGE}/${kind}s`, { [kind]: fields })
  const { id } = body[kind] as StoredBody
  await untilStored(client, kind, id, 'available')
  return id
}

/** Afterwards it is gone. */
export async function removeStored(client: ApiClient, kind: VolumeKind, id: string): Promise<void> {
  const { status } = await client.delete(pathOf(kind, id))
  if (status !== 202) throw new Error(`The delete of ${kind} ${id} was answered ${status}`)
  const isGone = async () => (await showStored(client, kind, id)) === undefined
  await waitFor(`${kind} ${id} is gone`, isGone, LIMIT_MS)
}
