import { Failure } from '#common/errors.ts'
import { own } from '#common/own.ts'

type Metadata = Readonly<Record<string, string>>

/** Of one volume or snapshot, as Cinder's quota for metadata items. */
const PAIRS_MAX = 128

/** One pair. Throws `not-found` for a key that there is not. */
export function metadatum(metadata: Metadata, key: string): Metadata {
  const value = own(metadata, key)
  if (value === undefined) throw noKey(key)
  return { [key]: value }
}

/** The metadata without a pair. Throws `not-found` for a key that there is not. */
export function metadataWithout(metadata: Metadata, key: string): Metadata {
  const { [key]: value, ...left } = metadata
  if (value === undefined) throw noKey(key)
  return left
}

/** The metadata with these pairs as well. Throws `invalid` for more than a volume or snapshot may have. */
export function metadataWith(metadata: Metadata, pairs: Metadata): Metadata {
  const all = { ...metadata, ...pairs }
  if (Object.keys(all).length > PAIRS_MAX)
    throw new Failure('invalid', `A volume or snapshot has at most ${PAIRS_MAX} pairs of metadata.`)
  return all
}

/** The pair of a request about one key. Throws `invalid` when its body names another. */
export function onlyPair(pair: Metadata, key: string): Metadata {
  if (own(pair, key) !== undefined) return pair
  throw new Failure('invalid', 'Request body and URI mismatch')
}

function noKey(key: string): Failure {
  return new Failure('not-found', `Metadata item ${key} could not be found.`)
}
