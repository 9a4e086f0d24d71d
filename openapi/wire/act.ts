import { type Static, Type } from 'typebox'
import { InstanceBuild } from './instance.ts'
import { OneOf } from './scalars.ts'

/** What is done to a guest and needs to be told nothing but its name. */
export const PLAIN_ACTS = [
  'start',
  'stop',
  'reboot-soft',
  'reboot-hard',
  'pause',
  'unpause',
  'suspend',
  'resume',
  'unrescue',
  'crash-dump',
] as const
export type PlainAct = (typeof PLAIN_ACTS)[number]

/** One thing that is done to a guest where it is. */
export const Act = Type.Union([
  Type.Object({ name: OneOf(PLAIN_ACTS) }),
  /** `build` is the server's own, with the image to rescue it with and the password it then has. */
  Type.Object({ name: Type.Literal('rescue'), build: InstanceBuild }),
  Type.Object({ name: Type.Literal('change-password'), password: Type.String() }),
])
export type Act = Static<typeof Act>
export type ActName = Act['name']

/** What a cell is asked to do with a server it has: a host's part, or a correction of what the cell believes. */
export const CellAct = Type.Union([
  ...Act.anyOf,
  Type.Object({ name: Type.Literal('reset-state'), state: OneOf(['active', 'error'] as const) }),
])
export type CellAct = Static<typeof CellAct>
