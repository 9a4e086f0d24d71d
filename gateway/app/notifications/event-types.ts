import { BUILD_EVENT } from '#openapi/wire/feed.ts'
import type { KeptEvent } from '../../db/events.ts'
import type { PayloadType } from './notification.ts'

const ACTION: PayloadType = ['InstanceActionPayload', '1.8']
const CREATE: PayloadType = ['InstanceCreatePayload', '1.12']
const REBUILD: PayloadType = ['InstanceActionRebuildPayload', '1.9']
const RESCUE: PayloadType = ['InstanceActionRescuePayload', '1.3']
const UPDATE: PayloadType = ['InstanceUpdatePayload', '2.0']
const TASK: PayloadType = ['ComputeTaskPayload', '1.0']
const EXCEPTION: PayloadType = ['ExceptionPayload', '1.1']
const VOLUME: PayloadType = ['InstanceActionVolumePayload', '1.6']
const SNAPSHOT: PayloadType = ['InstanceActionSnapshotPayload', '1.9']
const SERVICE: PayloadType = ['ServiceStatusPayload', '1.1']

/** What Nova calls an event, and what its notification carries. */
export interface EventType {
  readonly name: string
  readonly isError?: boolean
  readonly payload: PayloadType
}

/** An action in Nova's notifications. */
interface NotifiedAction {
  /** Between `instance.` and the phase. */
  readonly name: string
  readonly payload?: PayloadType
  /** Nova has a phase `error` of it; of others a failure is a `compute.exception`. */
  readonly hasError?: boolean
  /** Its end, where that is not called as its start. */
  readonly ended?: string
  /** Nova has one notification of it, without a phase. */
  readonly isSingle?: boolean
}

/** By the name in `server event list` (nova/compute/api.py and manager.py: `notify_about_instance_action`). */
const ACTIONS: ReadonlyMap<string, NotifiedAction> = new Map(
  Object.entries({
    create: { name: 'create', payload: CREATE, hasError: true },
    start: { name: 'power_on' },
    stop: { name: 'power_off' },
    reboot: { name: 'reboot', hasError: true },
    pause: { name: 'pause' },
    unpause: { name: 'unpause' },
    suspend: { name: 'suspend' },
    resume: { name: 'resume' },
    rescue: { name: 'rescue', payload: RESCUE },
    unrescue: { name: 'unrescue' },
    changePassword: { name: 'password_set' },
    trigger_crash_dump: { name: 'trigger_crash_dump' },
    lock: { name: 'lock', isSingle: true },
    unlock: { name: 'unlock', isSingle: true },
    rebuild: { name: 'rebuild', payload: REBUILD, hasError: true },
    evacuate: { name: 'evacuate', isSingle: true },
    resize: { name: 'resize', hasError: true },
    migrate: { name: 'resize', hasError: true },
    confirmResize: { name: 'resize_confirm' },
    revertResize: { name: 'resize_revert' },
    'live-migration': { name: 'live_migration_pre', ended: 'live_migration_post_dest' },
    live_migration_force_complete: { name: 'live_migration_force_complete' },
    live_migration_cancel: { name: 'live_migration_abort' },
    shelve: { name: 'shelve' },
    shelveOffload: { name: 'shelve_offload' },
    unshelve: { name: 'unshelve' },
    attach_interface: { name: 'interface_attach', hasError: true },
    detach_interface: { name: 'interface_detach' },
    attach_volume: { name: 'volume_attach', payload: VOLUME, hasError: true },
    detach_volume: { name: 'volume_detach', payload: VOLUME },
    createImage: { name: 'snapshot', payload: SNAPSHOT },
    createBackup: { name: 'snapshot', payload: SNAPSHOT },
    restore: { name: 'restore' },
    delete: { name: 'delete' },
  } satisfies Record<string, NotifiedAction>),
)

const SCHEDULE_EVENT = 'conductor_schedule_and_build_instances'
/** The end of a delete is the event that the server is gone. */
const DELETE_EVENT = 'compute_terminate_instance'
const SOFT_DELETE_EVENT = 'compute_soft_delete_instance'

/** What servers are made with; Nova sends a start and an end of what `hasPhases`, before and after it is done. */
interface NotifiedResource {
  /** Before the action. */
  readonly name: string
  readonly payload: PayloadType
  readonly hasPhases: boolean
}

const RESOURCES: ReadonlyMap<string, NotifiedResource> = new Map(
  Object.entries({
    'flavor.changed': { name: 'flavor', payload: ['FlavorPayload', '1.4'], hasPhases: false },
    'keypair.changed': { name: 'keypair', payload: ['KeypairPayload', '1.0'], hasPhases: true },
    'aggregate.changed': {
      name: 'aggregate',
      payload: ['AggregatePayload', '1.1'],
      hasPhases: true,
    },
    'server-group.changed': {
      name: 'server_group',
      payload: ['ServerGroupPayload', '1.1'],
      hasPhases: false,
    },
  } satisfies Record<string, NotifiedResource>),
)

/**
 * The notifications of an event, in their order. A start and an end of one event come together: by then it is done.
 * Otherwise as `eventTypeOf`.
 */
export function eventTypesOf(
  event: Pick<KeptEvent, 'type' | 'details'>,
  action: string | undefined,
  isSoft: boolean,
): readonly EventType[] {
  const resource = RESOURCES.get(event.type)
  if (resource !== undefined) {
    const { name, payload, hasPhases } = resource
    const phases = hasPhases ? ['.start', '.end'] : ['']
    return phases.map((phase) => ({ name: `${name}.${event.details.action}${phase}`, payload }))
  }
  const type = eventTypeOf(event, action, isSoft)
  return type === undefined ? [] : [type]
}

/**
 * The notification that Nova sends of an event of a server or host, at most one; undefined: it has none. `action`: the name of the action
 * that a step belongs to, where that is known. `isSoft`: a delete keeps the server for a while.
 */
export function eventTypeOf(
  { type, details }: Pick<KeptEvent, 'type' | 'details'>,
  action: string | undefined,
  isSoft: boolean,
): EventType | undefined {
  const { action: name = '', result, state } = details
  if (type === 'server.action') return result === undefined ? started(name, isSoft) : undefined
  if (type === 'server.step') return result === 'error' ? failed(name, action) : ended(name, action)
  if (type === 'server.state') return { name: 'instance.update', payload: UPDATE }
  if (type === 'server.deleted') return { name: 'instance.delete.end', payload: ACTION }
  if (type === 'host.state') return state === 'refused' ? undefined : hostEvent(state)
  return undefined
}

function started(action: string, isSoft: boolean): EventType | undefined {
  const known = ACTIONS.get(action)
  if (known === undefined) return undefined
  const { name, payload = ACTION, isSingle } = known
  if (isSingle === true) return { name: `instance.${name}`, payload }
  return { name: `instance.${isSoft && name === 'delete' ? 'soft_delete' : name}.start`, payload }
}

function ended(step: string, action: string | undefined): EventType | undefined {
  if (step === DELETE_EVENT) return undefined
  if (step === SOFT_DELETE_EVENT) return { name: 'instance.soft_delete.end', payload: ACTION }
  const known = actionOf(step, action)
  if (known === undefined || known.isSingle === true) return undefined
  const { name, payload = ACTION, ended: end = name } = known
  return { name: `instance.${end}.end`, payload }
}

function failed(step: string, action: string | undefined): EventType | undefined {
  if (step === SCHEDULE_EVENT)
    return { name: 'compute_task.build_instances.error', payload: TASK, isError: true }
  const known = actionOf(step, action)
  if (known?.hasError !== true)
    return { name: 'compute.exception', payload: EXCEPTION, isError: true }
  const { name, payload = ACTION } = known
  return { name: `instance.${name}.error`, payload, isError: true }
}

function actionOf(step: string, action: string | undefined): NotifiedAction | undefined {
  return ACTIONS.get(step === BUILD_EVENT ? 'create' : (action ?? ''))
}

function hostEvent(state: string | undefined): EventType {
  return { name: state === 'deleted' ? 'service.delete' : 'service.update', payload: SERVICE }
}
