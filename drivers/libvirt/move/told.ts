import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Failure } from '#common/errors.ts'

/** What a host says of a guest that is to leave it while it runs: the sizes of its disks in bytes. */
export const Announced = Type.Object({
  root: Type.Integer(),
  ephemeral: Type.Optional(Type.Integer()),
  swap: Type.Optional(Type.Integer()),
})
export type Announced = Static<typeof Announced>

/** What a host says that awaits a guest: who it is, and where it keeps what. */
export const Expected = Type.Object({
  uri: Type.String(),
  cellId: Type.String(),
  hostId: Type.String(),
  stateDirectory: Type.String(),
})
export type Expected = Static<typeof Expected>

/** Throws `invalid` for what no host of this version says. */
export function understood<T extends typeof Announced | typeof Expected>(
  schema: T,
  told: string,
): Static<T> {
  const said: unknown = JSON.parse(told)
  if (Value.Check(schema, said)) return said
  throw new Failure('invalid', 'The other host says nothing that is understood here.')
}
