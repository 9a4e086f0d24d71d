import { Failure } from '#common/errors.ts'
import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import type { StoreLack } from '#openapi/wire/volume.ts'
import type { Compute } from '../compute.ts'
import type { Volume } from './volume.ts'

/** What is to be done with a volume that is there. */
export type StoreWork = 'snapshot' | 'extend' | 'copy' | 'upload'

type Asked = Pick<Volume, 'id' | 'cellId' | 'storeId' | 'status' | 'isMultiattach'>

/** The store that has the volume, as its cell reports it; undefined while that is not known. */
export function storeOf(
  { cells }: Pick<Compute, 'cells'>,
  { cellId, storeId }: Pick<Volume, 'cellId' | 'storeId'>,
): StoreSummary | undefined {
  const cell = cellId === null ? undefined : cells.cell(cellId)
  return cell?.summary?.stores?.find(({ id }) => id === storeId)
}

/**
 * Throws `invalid` for what the store of the volume says that it cannot do, with what to do instead. A store that is not known
 * now is asked all the same. Stores are named to administrators alone, so they are not named here.
 */
export function refuseUnable(
  compute: Pick<Compute, 'cells'>,
  volume: Asked,
  work: StoreWork,
): void {
  const lacks = new Set(storeOf(compute, volume)?.lacks)
  const reason = whyNot(volume, work, (lack) => lacks.has(lack))
  if (reason === undefined) return
  throw new Failure('invalid', `Invalid volume: Volume ${volume.id} ${reason}`)
}

const WORDS: Readonly<Record<StoreWork, string>> = {
  snapshot: 'makes no snapshot of it',
  extend: 'extends no volume',
  copy: 'copies no volume',
  upload: 'makes no image of a volume',
}

function whyNot(
  { status, isMultiattach }: Asked,
  work: StoreWork,
  has: (lack: StoreLack) => boolean,
): string | undefined {
  const isUsed = status !== 'available'
  if (work === 'snapshot' && has('snapshots')) {
    const when = has('copy-in-use') && isUsed ? 'Detach it, and then create' : 'Create'
    return `is in a store that makes no snapshots. ${when} a volume with this one as its source.`
  }
  if (!isUsed) return undefined
  const isRefused =
    work === 'extend' ? has('extend-in-use') : work !== 'snapshot' && has('copy-in-use')
  if (isRefused)
    return `is '${status}', and its store ${WORDS[work]} that a server uses. Detach it first.`
  const isShared = isMultiattach && work !== 'extend' && has('copy-shared-in-use')
  if (!isShared) return undefined
  return `is '${status}', and several servers may use it, so its store ${WORDS[work]} meanwhile. Detach it from all servers first.`
}
