import type { WorkContext } from '#common/context.ts'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { SagaId } from '#common/ids.ts'
import { POWER_STATES } from '#common/states/instance-states.ts'
import type { Act, ActName, ActNamed } from '#openapi/wire/act.ts'
import type { OperationRef } from '#openapi/wire/instance.ts'
import { queueFeedRow } from '../../db/feed.ts'
import { nodeWish } from '../../placement/node-wish.ts'
import { release } from '../../placement/release.ts'
import { resourcesOf } from '../../placement/resources.ts'
import { noHostReason } from '../../scheduler/trace.ts'
import { claimCandidate } from '../claim-candidate.ts'
import type { Conductor } from '../conductor.ts'
import { decide, neighboursOf } from '../decide.ts'
import type { Instance } from '../instance.ts'
import { checkOwnHost, refuseOtherNodes } from './own-host.ts'
import { beginReimage, endReimage, rootVolumeOf } from './reimage-effects.ts'
import { confirmResizeEffects, resizeEffects, revertResizeEffects } from './resize-effects.ts'

/** The server's allocations stay unchanged. */
const rebuildEffects: ActEffects<ActNamed<'rebuild'>> = {
  begin: async (tx, acted) => {
    const { deps, instance, act } = acted
    checkOwnHost(deps, instance, act)
    refuseOtherNodes(deps, instance, act)
    await beginReimage(tx, acted)
    return {}
  },
  done: async (tx, acted) => {
    const { instance, act, at } = acted
    const { id, properties } = act.build.image
    await endReimage(tx, acted, { fault: null })
    return {
      vmState: instance.vmState === 'stopped' ? 'stopped' : 'active',
      ...(rootVolumeOf(act.build) === undefined && { imageId: id }),
      imageProperties: properties,
      launchedAt: at,
      fault: null,
    }
  },
  // It is unknown which disk the guest has now; it may be rebuilt again.
  failed: async (tx, acted, { reason }) => {
    await endReimage(tx, acted, { fault: reason })
    return { vmState: 'error' }
  },
  preempted: (tx, acted, isDone) =>
    endReimage(tx, acted, { fault: isDone ? null : 'Its server was deleted meanwhile.' }),
}

/** A server that starts from a volume leaves its host at once, as in Nova: there is nothing to wait for. */
const shelveEffects: ActEffects<ActNamed<'shelve'>> = {
  done: async (tx, { instance, act }) => {
    if (act.target !== undefined) return {}
    return { ...(await offloaded(tx, instance)), vmState: 'shelved_offloaded' }
  },
}

const shelveOffloadEffects: ActEffects<ActNamed<'shelve-offload'>> = {
  done: (tx, { instance }) => offloaded(tx, instance),
}

/** Afterwards the host has its room back, and the server is in its image or its volumes only. */
async function offloaded(tx: Tx, { id }: Instance): Promise<InstancePart> {
  await release(tx, id)
  return { placed: null }
}

/** A server that is on no host is placed again, on any host of the cell; one that is still on its host stays there. */
const unshelveEffects: ActEffects<ActNamed<'unshelve'>> = {
  begin: async (tx, { deps, operation, instance, act }) => {
    if (instance.placed !== null) return {}
    const { serverId, attempt } = operation
    const neighbours = await neighboursOf(tx, act.build)
    const decision = decide(deps, act.build, { triedHosts: new Set(), neighbours })
    const candidates = decision.selection.hosts.map(({ hostId }) => hostId)
    const { placed, lost } = await claimCandidate(tx, deps, candidates, {
      consumer: serverId,
      resources: resourcesOf(act.build),
      nodes: nodeWish(act.build),
      group: act.build.group,
    })
    if (placed === undefined) throw new Failure('no-capacity', noHostReason(decision.selection))
    const trace = decision.trace({ lostClaims: lost, chosen: placed.host })
    queueFeedRow(tx, [{ kind: 'trace', serverId, attempt, trace }])
    return { placed }
  },
  done: async (_tx, { at }) => ({ launchedAt: at }),
  failed: async (tx, { instance }) => {
    if (instance.placed !== null) return {}
    await release(tx, instance.id)
    return { placed: null }
  },
  takeBack: () => ({ name: 'shelve-offload' }),
}

/** A server that waits for the confirmation of its resize still waits after it is started along with its host. */
const startEffects: ActEffects<ActNamed<'start'>> = {
  done: async (_tx, { instance }) => (instance.vmState === 'resized' ? { vmState: 'resized' } : {}),
}

/** An act with everything that its effects may use. */
export interface Acted<A extends Act> {
  readonly deps: Conductor
  readonly operation: OperationRef
  /** As it was when the act was found possible. */
  readonly instance: Instance
  readonly act: A
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The saga that carries out the act. */
  readonly sagaId: SagaId
  /** The request that asked for the act. */
  readonly work: WorkContext
}

/** How an act has failed. */
export interface ActFailure {
  /** For operators. */
  readonly reason: string
  /** What was begun on the host was taken back, or nothing was. */
  readonly isRolledBack: boolean
}

/** The properties of an instance that the table of actions does not determine. */
export type InstancePart = Partial<
  Pick<
    Instance,
    'vmState' | 'placed' | 'flavor' | 'imageId' | 'imageProperties' | 'launchedAt' | 'fault'
  >
>

/** The effects of an act on rows, besides its task and its final state. */
export interface ActEffects<A extends Act> {
  /** With its first commit; what the instance is meanwhile. Throws `no-capacity`, and nothing has begun. */
  readonly begin?: (tx: Tx, acted: Acted<A>) => Promise<InstancePart>
  /** With its last; what the instance is then. */
  readonly done?: (tx: Tx, acted: Acted<A>) => Promise<InstancePart>
  /** The same for an act that the host could not do. */
  readonly failed?: (tx: Tx, acted: Acted<A>, failure: ActFailure) => Promise<InstancePart>
  /**
   * The same where something else, such as a delete, has taken the instance from it, which decides what that is; may be
   * repeated. `isDone`: the host has done the act.
   */
  readonly preempted?: (tx: Tx, acted: Acted<A>, isDone: boolean) => Promise<void>
  /** What takes back on the host what was begun there; absent: nothing does, or nothing is left. */
  readonly takeBack?: (act: A) => Act
}

type Table = { readonly [N in ActName]?: ActEffects<ActNamed<N>> }

const EFFECTS: Table = {
  rebuild: rebuildEffects,
  resize: resizeEffects,
  'confirm-resize': confirmResizeEffects,
  'revert-resize': revertResizeEffects,
  shelve: shelveEffects,
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
