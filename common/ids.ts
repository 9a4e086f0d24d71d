import { randomFillSync } from 'node:crypto'
import { Failure } from './errors.ts'

declare const brand: unique symbol
type Id<Name extends string> = string & { readonly [brand]: Name }

export type InstanceId = Id<'instance'>
export type CellId = Id<'cell'>
export type HostId = Id<'host'>
export type ProjectId = Id<'project'>
export type UserId = Id<'user'>
export type ImageId = Id<'image'>
export type NetworkId = Id<'network'>
export type PortId = Id<'port'>
export type VolumeId = Id<'volume'>
export type VolumeSnapshotId = Id<'volume snapshot'>
export type AttachmentId = Id<'attachment'>
export type SagaId = Id<'saga'>
export type OperationId = Id<'operation'>

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** True for a lower-case, dashed UUID of any version. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Narrows text to an id; throws `invalid` when it is not a UUID. `what` names the field to the user. */
export function parseId<T extends string>(text: string, what: string): T {
  const id = text.toLowerCase()
  if (!isUuid(id)) throw new Failure('invalid', `Invalid ${what}: ${text} is not a UUID.`)
  return id as T
}

const ID_BYTES = 16
/** Asked for many ids at a time: each time costs more than the ids do. */
const RANDOM = Buffer.alloc(256 * ID_BYTES)
let nextRandom = RANDOM.length

/**
 * A new UUID, ordered by creation as those of version 7 are (RFC 9562 §5.7), so that inserts stay local in the clustered
 * index. It says version 4: gophercloud, and so Terraform, refuses to send a scheduler hint with an id of a version
 * above 5.
 */
export function newId<T extends string>(): T {
  if (nextRandom === RANDOM.length) {
    randomFillSync(RANDOM)
    nextRandom = 0
  }
  const bytes = RANDOM.subarray(nextRandom, (nextRandom += ID_BYTES))
  bytes.writeUIntBE(Date.now(), 0, 6)
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as T
}
