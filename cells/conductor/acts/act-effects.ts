import type { Tx } from '#common/db/database.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { Act, ActName, ActNamed } from '#openapi/wire/act.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import type { Conductor } from '../conductor.ts'
import type { Instance } from '../instance.ts'
import { rebuildEffects } from './rebuild-effects.ts'
import { confirmResizeEffects, resizeEffects, revertResizeEffects } from './resize-effects.ts'
import { shelveOffloadEffects, unshelveEffects } from './shelve-effects.ts'
import { startEffects } from './start-effects.ts'

/** What an act has to do with. */
export interface Acted<A extends Act> {
  readonly deps: Conductor
  readonly operation: OperationRef
  /** As it was when the act was found possible. */
  readonly instance: Instance
  readonly act: A
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** What the instance is besides what the table of actions says. */
export type InstancePart = Partial<
  Pick<Instance, 'vmState' | 'placed' | 'flavor' | 'imageId' | 'launchedAt' | 'fault'>
>

/** What an act does to rows, besides its task and its end. */
export interface ActEffects<A extends Act> {
  /** With its first commit; what the instance is meanwhile. Throws `no-capacity`, and nothing has begun. */
  readonly begin?: (tx: Tx, acted: Acted<A>) => Promise<InstancePart>
  /** With its last; what the instance is then. */
  readonly done?: (tx: Tx, acted: Acted<A>) => Promise<InstancePart>
  /** The same for an act that the host could not do. */
  readonly failed?: (tx: Tx, acted: Acted<A>, isTakenBack: boolean) => Promise<InstancePart>
  /** What takes back on the host what was begun there; absent: nothing does, or nothing is left. */
  readonly takeBack?: (act: A) => Act
}

type Table = { readonly [N in ActName]?: ActEffects<ActNamed<N>> }

const EFFECTS: Table = {
  rebuild: rebuildEffects,
  resize: resizeEffects,
  'confirm-resize': confirmResizeEffects,
  'revert-resize': revertResizeEffects,
  'shelve-offload': shelveOffloadEffects,
  start: startEffects,
  unshelve: unshelveEffects,
}

/** The effects of an act; none for most. */
export function effectsOf(name: ActName): ActEffects<Act> {
  // The table gives each act the effects that are written for it.
  return (EFFECTS[name] ?? {}) as ActEffects<Act>
}

/** True when a guest that an act starts again is to run afterwards. */
export function runsAfterwards({ vmState, powerState }: Instance, name: ActName): boolean {
  return name === 'revert-resize' ? powerState !== POWER_STATES.shutdown : vmState !== 'stopped'
}
