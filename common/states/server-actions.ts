import type { Task, VmState } from './instance-states.ts'

/** The states from which an action may begin, the task that it shows, and the state that it leads to. */
export interface ServerActionRule {
  /** Nova's name of the action, in refusals and, where `recorded` names no other, in `server event list`. */
  readonly name: string
  /** Null: it leaves no record of its own. */
  readonly recorded?: string | null
  readonly from: readonly VmState[] | 'any'
  /** Tasks of other actions over which it may begin, besides no task. */
  readonly over?: readonly Task[] | 'any'
  /** True when it may begin only while one of `over` is under way. */
  readonly onlyOver?: boolean
  /** True for a server that never ran. */
  readonly needsNoLaunch?: boolean
  /** True when a lock does not hold it up. */
  readonly ignoresLock?: boolean
  /** The task shown while it is under way; null: none. */
  readonly during: Task | null
  /** The vm state once it is done; null: as it was before, or as the outcome decides. */
  readonly to: VmState | null
  /** The name of the step on a host in events, as Nova's computes use it; null: there is no such step. */
  readonly event: string | null
}

const WITH_DISK: readonly VmState[] = ['active', 'stopped', 'paused', 'suspended']

/** Tasks that a forced reboot, or a delete that keeps the server, takes the guest from. */
const OF_POWER: readonly Task[] = [
  'rebooting',
  'reboot_pending',
  'reboot_started',
  'rebooting_hard',
  'pausing',
  'unpausing',
  'suspending',
  'resuming',
]

/**
 * Every action on a server (nova/compute/api.py: `check_instance_state`, `check_instance_lock`; the events are
 * nova/compute/manager.py's). Gateway and cell decide by it alike, and docs/reference/states.md is made from it.
 */
const RULES = {
  start: {
    name: 'start',
    from: ['stopped'],
    during: 'powering-on',
    to: 'active',
    event: 'compute_start_instance',
  },
  stop: {
    name: 'stop',
    from: ['active', 'error'],
    during: 'powering-off',
    to: 'stopped',
    event: 'compute_stop_instance',
  },
  'reboot-soft': {
    name: 'reboot',
    from: ['active'],
    during: 'rebooting',
    to: 'active',
    event: 'compute_reboot_instance',
  },
  'reboot-hard': {
    name: 'reboot',
    from: [...WITH_DISK, 'error'],
    over: OF_POWER,
    during: 'rebooting_hard',
    to: 'active',
    event: 'compute_reboot_instance',
  },
  pause: {
    name: 'pause',
    from: ['active'],
    during: 'pausing',
    to: 'paused',
    event: 'compute_pause_instance',
  },
  unpause: {
    name: 'unpause',
    from: ['paused'],
    during: 'unpausing',
    to: 'active',
    event: 'compute_unpause_instance',
  },
  suspend: {
    name: 'suspend',
    from: ['active'],
    during: 'suspending',
    to: 'suspended',
    event: 'compute_suspend_instance',
  },
  resume: {
    name: 'resume',
    from: ['suspended'],
    during: 'resuming',
    to: 'active',
    event: 'compute_resume_instance',
  },
  rescue: {
    name: 'rescue',
    from: ['active', 'stopped', 'error'],
    during: 'rescuing',
    to: 'rescued',
    event: 'compute_rescue_instance',
  },
  unrescue: {
    name: 'unrescue',
    from: ['rescued'],
    during: 'unrescuing',
    to: 'active',
    event: 'compute_unrescue_instance',
  },
  'change-password': {
    name: 'changePassword',
    from: ['active'],
    during: 'updating_password',
    to: null,
    event: 'compute_set_admin_password',
  },
  'crash-dump': {
    name: 'trigger_crash_dump',
    from: ['active', 'paused', 'rescued', 'resized', 'error'],
    during: null,
    to: null,
    event: 'compute_trigger_crash_dump',
  },
  'inject-network-info': {
    name: 'injectNetworkInfo',
    recorded: null,
    from: 'any',
    over: 'any',
    needsNoLaunch: true,
    during: null,
    to: null,
    event: null,
  },
  lock: {
    name: 'lock',
    from: 'any',
    over: 'any',
    needsNoLaunch: true,
    ignoresLock: true,
    during: null,
    to: null,
    event: 'api_lock',
  },
  unlock: {
    name: 'unlock',
    from: 'any',
    over: 'any',
    needsNoLaunch: true,
    ignoresLock: true,
    during: null,
    to: null,
    event: 'api_unlock',
  },
  'reset-state': {
    name: 'resetState',
    from: 'any',
    over: 'any',
    needsNoLaunch: true,
    ignoresLock: true,
    during: null,
    to: null,
    event: null,
  },
  'create-image': {
    name: 'createImage',
    from: WITH_DISK,
    ignoresLock: true,
    during: 'image_snapshot',
    to: null,
    event: 'compute_snapshot_instance',
  },
  'forget-changes': {
    name: 'forgetDiskChanges',
    from: WITH_DISK,
    ignoresLock: true,
    during: null,
    to: null,
    event: 'compute_forget_disk_changes',
  },
  'create-backup': {
    name: 'createBackup',
    from: WITH_DISK,
    ignoresLock: true,
    during: 'image_backup',
    to: null,
    event: 'compute_backup_instance',
  },
  rebuild: {
    name: 'rebuild',
    from: ['active', 'stopped', 'error'],
    during: 'rebuilding',
    to: null,
    event: 'compute_rebuild_instance',
  },
  resize: {
    name: 'resize',
    from: ['active', 'stopped'],
    during: 'resize_prep',
    to: 'resized',
    event: 'compute_resize_instance',
  },
  'confirm-resize': {
    name: 'confirmResize',
    from: ['resized'],
    during: 'resize_confirming',
    to: null,
    event: 'compute_confirm_resize',
  },
  'revert-resize': {
    name: 'revertResize',
    from: ['resized'],
    during: 'resize_reverting',
    to: null,
    event: 'compute_revert_resize',
  },
  migrate: {
    name: 'migrate',
    from: ['active', 'stopped'],
    during: 'resize_prep',
    to: 'resized',
    event: 'compute_resize_instance',
  },
  'live-migrate': {
    name: 'os-migrateLive',
    recorded: 'live-migration',
    from: ['active', 'paused'],
    during: 'migrating',
    to: null,
    event: 'compute_live_migration',
  },
  'force-complete': {
    name: 'force_complete',
    recorded: 'live_migration_force_complete',
    from: ['active'],
    over: ['migrating'],
    onlyOver: true,
    during: null,
    to: null,
    event: 'compute_live_migration_force_complete',
  },
  'abort-migration': {
    name: 'abort live migration',
    recorded: 'live_migration_cancel',
    from: 'any',
    over: ['migrating'],
    onlyOver: true,
    during: null,
    to: null,
    event: 'compute_live_migration_abort',
  },
  evacuate: {
    name: 'evacuate',
    from: ['active', 'stopped', 'error'],
    over: 'any',
    ignoresLock: true,
    during: 'rebuilding',
    to: null,
    event: 'compute_rebuild_instance',
  },
  shelve: {
    name: 'shelve',
    from: WITH_DISK,
    during: 'shelving',
    to: 'shelved',
    event: 'compute_shelve_instance',
  },
  'shelve-offload': {
    name: 'shelveOffload',
    from: ['shelved'],
    during: 'shelving_offloading',
    to: 'shelved_offloaded',
    event: 'compute_shelve_offload_instance',
  },
  unshelve: {
    name: 'unshelve',
    from: ['shelved', 'shelved_offloaded'],
    during: 'unshelving',
    to: 'active',
    event: 'compute_unshelve_instance',
  },
  'attach-interface': {
    name: 'attach_interface',
    from: ['active', 'paused', 'stopped'],
    during: null,
    to: null,
    event: 'compute_attach_interface',
  },
  'detach-interface': {
    name: 'detach_interface',
    from: ['active', 'paused', 'stopped'],
    during: null,
    to: null,
    event: 'compute_detach_interface',
  },
  delete: {
    name: 'delete',
    from: 'any',
    over: 'any',
    needsNoLaunch: true,
    during: 'deleting',
    to: 'deleted',
    event: 'compute_terminate_instance',
  },
  'soft-delete': {
    name: 'delete',
    // Where there is a guest on a host that starting brings back; in other states a delete keeps nothing.
    from: [...WITH_DISK, 'shelved', 'error'],
    over: [...OF_POWER, 'powering-off', 'powering-on', 'updating_password'],
    during: 'soft-deleting',
    to: 'soft-delete',
    event: 'compute_soft_delete_instance',
  },
  'force-delete': {
    name: 'forceDelete',
    recorded: 'delete',
    from: 'any',
    over: 'any',
    needsNoLaunch: true,
    during: 'deleting',
    to: 'deleted',
    event: 'compute_terminate_instance',
  },
  restore: {
    name: 'restore',
    from: ['soft-delete'],
    during: 'restoring',
    to: 'active',
    event: 'compute_restore_instance',
  },
} as const satisfies Readonly<Record<string, ServerActionRule>>

export type ServerActionName = keyof typeof RULES
export const SERVER_ACTIONS: Readonly<Record<ServerActionName, ServerActionRule>> = RULES
export const SERVER_ACTION_NAMES = Object.keys(RULES) as readonly ServerActionName[]

/** As `server event list` calls it; null where it shows nothing. */
export function recordedName(action: ServerActionName): string | null {
  const { name, recorded } = SERVER_ACTIONS[action]
  return recorded === undefined ? name : recorded
}
