import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Failure } from '#common/errors.ts'

/**
 * The message of a live migration's source to the destination: the sizes of the guest's own disks in bytes. One that starts
 * from a volume has no root disk.
 */
export const Announced = Type.Object({
  root: Type.Optional(Type.Integer()),
  ephemeral: Type.Optional(Type.Integer()),
  swap: Type.Optional(Type.Integer()),
})
export type Announced = Static<typeof Announced>

/**
 * The message of a live migration's destination to the source: its libvirt, its identity, its folder of disks, and by attachment the
 * paths of the guest's volumes there, and the names by which it reaches those on iSCSI LUNs. Hosts of the last release send
 * neither.
 */
export const Expected = Type.Object({
  uri: Type.String(),
  cellId: Type.String(),
  hostId: Type.String(),
  stateDirectory: Type.String(),
  volumes: Type.Optional(Type.Record(Type.String(), Type.String())),
  initiators: Type.Optional(Type.Record(Type.String(), Type.String())),
})
export type Expected = Static<typeof Expected>

/** Throws `invalid` for text that no host of this version sends. */
export function parsePeerInfo<T extends typeof Announced | typeof Expected>(
  schema: T,
  text: string,
): Static<T> {
  const info: unknown = JSON.parse(text)
  if (Value.Check(schema, info)) return info
  throw new Failure(
    'invalid',
    'The other host sent information about the migration that this release cannot read.',
  )
}
